-- Moves a pending or retrying task into its stream, unless its time to live has run out.
local function unschedule(id)
  redis.call('ZREM', SCHEDULE, id)
  redis.call('ZREM', CLAIMED, id)
end

local function send(task)
  if expired(task) then
    if task.status == 'retrying' then
      -- The table knows no retrying -> expired, so the task passes through queued without an entry.
      transition(task, 'queued', 'enqueued_at', now)
    end
    ended(task, 'expired')
    return
  end
  local attempt = task.attempt
  if task.status == 'retrying' then
    attempt = attempt + 1
  end
  local entry = enqueue(task.id, task.queue, task.priority, attempt)
  transition(task, 'queued', 'attempt', attempt, 'entry', entry, 'enqueued_at', now)
end
