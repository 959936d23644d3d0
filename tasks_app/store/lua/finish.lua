-- Writes how attempts ended. An attempt that is no longer this worker's changes nothing.
-- ARGV: worker, then WIDTH values per task (see leases.py). Replies per task the status it has now, or LEASE_LOST.
--#include arguments clock unhindered transition index record idempotency terminal stats event enqueue ack retention attempts deadletter commit
expect('t', 'ttttntttt')
local WIDTH = 9
local worker = ARGV[1]
local released, due, replies = {}, {}, {}

local function finish(task, to, outcome, delay_ms, result, error_class, message, traceback)
  if task.cancel_requested then
    to = 'cancelled' -- whatever the handler made of it
  end
  local group
  if to == 'succeeded' then
    group = ended(task, to, 'result', result)
  elseif to == 'cancelled' then
    group = ended(task, to)
  else
    record_attempt(task, outcome, error_class, message, traceback)
    if to == 'retrying' then
      local due_at = now + tonumber(delay_ms)
      due[#due + 1] = due_at
      due[#due + 1] = task.id
      group = transition(task, to, 'due_at', due_at, 'error_class', error_class, 'error_message', message, 'traceback',
        traceback)
    elseif to == 'dead_lettered' then
      group = bury(task, error_class, message, traceback)
    else
      group = ended(task, to, 'error_class', error_class, 'error_message', message, 'traceback', traceback)
    end
  end
  observe(group.runs, now - (task.started_at or now))
  ack(task.queue .. ':p' .. task.priority, task.entry)
  released[#released + 1] = task.id
  return task.status
end

-- Whether this outcome was written before, by a call whose answer was lost on its way.
local function is_written(id, v, attempt)
  return v[1] and v[1] ~= 'running' and v[5] == attempt and v[7] == worker and fields_of(id, 'error_class')[1] ~= 'WorkerLost'
end

for i = 0, (#ARGV - 1) / WIDTH - 1 do
  local at = i * WIDTH + 1
  local id, to = ARGV[at + 1], ARGV[at + 3]
  -- Only what an end needs: each field asked for costs a walk along the record.
  local v = fields_of(id, 'status', 'queue', 'task_type', 'priority', 'attempt', 'entry', 'worker_id', 'started_at',
    'idempotency_key', 'cancel_requested', 'side')
  if v[1] ~= 'running' or v[5] ~= ARGV[at + 2] or v[7] ~= worker or not (v[2] and v[3] and tonumber(v[4])) then
    replies[i + 1] = 'LEASE_LOST'
    if not is_written(id, v, ARGV[at + 2]) then
      tally(v[2], v[3], 'dropped')
    end
  elseif not allowed('running', to) then
    replies[i + 1] = 'INVALID_TRANSITION'
  else
    local task = { id = id, status = 'running', queue = v[2], type = v[3], priority = v[4], attempt = tonumber(v[5]),
      entry = v[6], worker_id = worker, started_at = tonumber(v[8]), key = v[9], cancel_requested = v[10], side = v[11] }
    replies[i + 1] = finish(task, unpack(ARGV, at + 3, at + WIDTH))
  end
end
each_chunk(released, function(...) redis.call('ZREM', LEASES, ...) end)
each_chunk(due, function(...) redis.call('ZADD', SCHEDULE, ...) end)
commit()
return replies
