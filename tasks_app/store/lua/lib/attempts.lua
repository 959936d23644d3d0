-- The history of attempts that did not succeed; the last or only attempt of a finished task is in its record.
local function record_attempt(task, outcome, error_class, message, traceback)
  local key = ATTEMPTS .. task.id
  local kept = redis.call('RPUSH', key, cjson.encode({
    number = task.attempt,
    outcome = outcome,
    worker_id = task.worker_id or '',
    queued_at = task.enqueued_at or tonumber(fields_of(task.id, 'enqueued_at')[1]), -- an end reads it only here
    started_at = task.started_at or now,
    ended_at = now,
    error_class = error_class,
    error_message = message,
    traceback = traceback,
  }))
  if kept > ATTEMPTS_KEPT then
    redis.call('LTRIM', key, -ATTEMPTS_KEPT, -1)
  end
  if not task.side then
    task.side = '1'
    redis.call('HSET', TASK .. task.id, 'side', 1)
  end
end
