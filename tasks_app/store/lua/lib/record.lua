-- Reads what scripts need to know of a task. A missing record has no status; one that was damaged has a status or
-- numbers that make no sense, or is no hash at all, and `readable` says so. Further fields come back in `task.more`.
local function fields_of(id, ...)
  local v = redis.pcall('HMGET', TASK .. id, ...)
  return v.err and {} or v
end

local function read(id, ...)
  local v = fields_of(id, 'status', 'attempt', 'max_attempts', 'worker_id', 'queue', 'task_type', 'priority', 'entry',
    'idempotency_key', 'cancel_requested', 'started_at', 'enqueued_at', 'expires_at', 'side', ...)
  local task = {
    id = id,
    status = v[1],
    attempt = tonumber(v[2]),
    max_attempts = tonumber(v[3]),
    worker_id = v[4],
    queue = v[5],
    type = v[6],
    priority = v[7],
    entry = v[8],
    key = v[9],
    cancel_requested = v[10],
    started_at = tonumber(v[11]),
    enqueued_at = tonumber(v[12]),
    expires_at = tonumber(v[13]),
    side = v[14],
    more = v,
  }
  task.readable = STATUSES[task.status] and task.attempt and task.max_attempts and task.queue and task.type
    and string.match(task.priority or '', '^%d$') and true
  return task
end

local function is_recorded(id)
  return redis.call('EXISTS', TASK .. id) == 1
end

local FIRST_EXTRA = 15

local function has_passed(moment)
  moment = tonumber(moment)
  return moment and now >= moment
end

local function expired(task)
  return has_passed(task.expires_at)
end
