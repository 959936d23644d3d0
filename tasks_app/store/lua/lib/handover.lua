-- What a worker is handed when it claims or re-adopts a task, without the traces of the attempt before.
local function for_worker(task, timeout_ms, payload, metadata)
  return { task.id, task.attempt, task.max_attempts, task.type, task.queue, task.priority, timeout_ms or '', payload or '',
    metadata or '{}' }
end

local function forget_attempt(id)
  redis.call('HDEL', TASK .. id, 'error_class', 'error_message', 'traceback', 'given_back', 'progress', 'progress_note')
end
