-- Ends a task: the move, the record's time to live, and the idempotency key's state.
local function keep_side_keys(task, ms)
  if task.side then
    redis.call('PEXPIRE', ATTEMPTS .. task.id, ms)
    redis.call('PEXPIRE', LOG .. task.id, ms)
  end
end

local function ended(task, to, ...)
  local group = transition(task, to, 'finished_at', now, ...)
  redis.call('PEXPIRE', TASK .. task.id, RETENTION_MS)
  keep_side_keys(task, RETENTION_MS)
  if task.key then
    set_key_state(task, to == 'succeeded' and 'completed' or 'failed')
  end
  return group
end
