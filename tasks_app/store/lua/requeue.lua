-- Brings dead-lettered or failed tasks back: attempt 1, fresh budget and TTL clock, their old attempts kept.
-- ARGV: actor, address, request id, four of the step (lib/step.lua), then WIDTH values per task: id, the attempt the caller
-- saw ('' when it could not read the record), its requeue count, new metadata, TTL in ms or ''. Replies per task
-- {word, status}; CHANGED when the record is not what the caller saw.
--#include arguments clock transition index record idempotency terminal stats event enqueue ack retention attempts deadletter audit commit
expect('ttttttn', 'ttnto')
local WIDTH = 5
local replies, back = {}, {}

--#include step

local function requeue(id, attempt, requeues, metadata, ttl_ms)
  local task = read(id, 'requeues', 'dlq_entry', 'fingerprint', 'key_fingerprint')
  if not task.readable or attempt == '' then
    return { is_recorded(id) and 'UNREADABLE_RECORD' or 'NOT_FOUND', '' }
  elseif not REQUEUEABLE[task.status] then
    return { 'WRONG_STATUS', task.status }
  elseif tostring(task.attempt) ~= attempt or (task.more[FIRST_EXTRA] or '0') ~= requeues then
    return { 'CHANGED', task.status }
  end
  if task.key then
    local name = key_name(task.queue, task.key)
    local holder = holder_of(name)
    if holder and holder.task_id ~= id then
      local status = fields_of(holder.task_id, 'status')[1]
      if status and not TERMINAL[status] then
        return { 'IDEMPOTENCY_CONFLICT', holder.task_id }
      end
    end
    hold(name, id, task.more[FIRST_EXTRA + 3] or '', IDEM_TTL_MS)
    redis.call('ZADD', KEYED, now + IDEM_TTL_MS, id)
  end
  dig_up(id, task.more[FIRST_EXTRA + 1], task.more[FIRST_EXTRA + 2])
  redis.call('HDEL', TASK .. id, 'finished_at', 'started_at', 'worker_id', 'result', 'error_class', 'error_message',
    'traceback', 'fingerprint', 'dlq_entry', 'cancel_requested', 'given_back', 'progress', 'progress_note', 'due_at',
    'expires_at')
  local entry = enqueue(id, task.queue, task.priority, 1)
  revive(task, 'attempt', 1, 'entry', entry, 'enqueued_at', now, 'metadata', metadata, 'requeues', tonumber(requeues) + 1)
  if ttl_ms ~= '' then
    redis.call('HSET', TASK .. id, 'expires_at', now + tonumber(ttl_ms))
  end
  redis.call('PERSIST', TASK .. id)
  if task.side then
    redis.call('PERSIST', ATTEMPTS .. id)
    redis.call('PERSIST', LOG .. id)
  end
  redis.call('SADD', QUEUES, task.queue)
  redis.call('SADD', TYPES, task.type)
  if not operation then
    audit('requeue', 'task', id, '')
  end
  back[#back + 1] = id
  return { 'OK', 'queued' }
end

for at = 8, #ARGV, WIDTH do
  replies[#replies + 1] = requeue(unpack(ARGV, at, at + WIDTH - 1))
end
if operation then
  count_step(replies)
end
if trials then
  note_trial(back)
end
commit()
return replies
