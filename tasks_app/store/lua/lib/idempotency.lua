-- Who holds an idempotency key: {task_id, state, fingerprint}. A damaged record holds nothing, so its key is free.
local function key_name(queue, key)
  return IDEMPOTENCY .. queue .. ':' .. key
end

local function holder_of(name)
  local text = redis.pcall('GET', name)
  if not text then
    return nil
  end
  local ok, holder = pcall(cjson.decode, text)
  if ok and type(holder) == 'table' and type(holder.task_id) == 'string' then
    return holder
  end
  return nil
end

local function hold(name, id, fingerprint, ttl_ms)
  local holder = { task_id = id, state = 'processing', fingerprint = fingerprint }
  redis.call('SET', name, cjson.encode(holder), 'PX', ttl_ms)
end

local function set_key_state(task, state)
  local name = key_name(task.queue, task.key)
  local holder = holder_of(name)
  if holder and holder.task_id == task.id then
    holder.state = state
    redis.call('SET', name, cjson.encode(holder), 'PX', IDEM_TTL_MS)
  end
  redis.call('ZREM', KEYED, task.id)
end
