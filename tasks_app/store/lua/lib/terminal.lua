-- Ends a task: the move, the record's time to live, and the idempotency key's state.
local function set_key_state(task, state)
  local name = IDEMPOTENCY .. task.queue .. ':' .. task.key
  local text = redis.call('GET', name)
  local ok, holder = pcall(cjson.decode, text or '')
  if ok and type(holder) == 'table' and holder.task_id == task.id then
    holder.state = state
    redis.call('SET', name, cjson.encode(holder), 'PX', IDEM_TTL_MS)
  end
  redis.call('ZREM', KEYED, task.id)
end

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
