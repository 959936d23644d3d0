-- A damaged record is taken out of the queue's way: it leaves every place that would bring it up again, is listed among
-- the dead (where an operator may discard it), and expires. Its own fields stay as they were found.
local DAMAGED = 'unreadable'

-- It may stand anywhere, so each place it could be is cleaned. `queue` is where it was found, should it not know itself.
local function leave_everywhere(task, queue)
  queue = task.queue or queue
  for status in pairs(STATUSES) do
    redis.call('ZREM', INDEX .. status, task.id)
    if queue then
      redis.call('ZREM', INDEX .. status .. ':q:' .. queue, task.id)
    end
    if task.type then
      redis.call('ZREM', INDEX .. status .. ':t:' .. task.type, task.id)
    end
  end
  if redis.call('ZREM', LEASES, task.id) == 1 and task.queue and task.type then
    count_running(task, -1)
  end
  unschedule(task.id)
end

local function put_aside(task, queue)
  leave_everywhere(task, queue)
  local to, grave = 'failed', '@'
  if DLQ_ENABLED then
    to = 'dead_lettered'
    local class, message = 'UnreadableRecord', 'The record of this task is damaged'
    local entry = letter(task, DAMAGED, class, message)
    note_cause(DAMAGED, task.type or '', class, message, { 0, task.id })
    redis.pcall('HSET', TASK .. task.id, 'dlq_entry', entry, 'fingerprint', DAMAGED) -- no hash, no fields
    grave = entry .. '@' .. DAMAGED
  end
  redis.call('ZADD', INDEX .. to, 0, task.id)
  redis.call('ZADD', RETENTION, now + RETENTION_MS, to .. ' - - ' .. task.id .. '@' .. grave)
  redis.call('PEXPIRE', TASK .. task.id, RETENTION_MS)
  redis.call('PEXPIRE', ATTEMPTS .. task.id, RETENTION_MS)
  redis.call('PEXPIRE', LOG .. task.id, RETENTION_MS)
end
