-- Forgets what has left: workers whose heartbeat has expired, types without a task, cancelled ids whose entry is gone.
-- ARGV: token, how many cancelled ids. Replies how many of them.
--#include arguments lock leading clock unhindered
expect('tn')
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', WORKERS, '-inf', now - HEARTBEAT_TTL_MS, 'LIMIT', 0, 100)) do
  if redis.call('EXISTS', WORKER .. worker) == 0 then
    redis.call('ZREM', WORKERS, worker)
  end
end
for _, task_type in ipairs(redis.call('SRANDMEMBER', TYPES, 20)) do
  local used = (tonumber(redis.call('HGET', RUNNING, 't:' .. task_type)) or 0) > 0
  for status in pairs(STATUSES) do
    used = used or redis.call('EXISTS', INDEX .. status .. ':t:' .. task_type) == 1
  end
  if not used then
    redis.call('SREM', TYPES, task_type)
    redis.call('HDEL', RUNNING, 't:' .. task_type)
  end
end
if redis.call('ZCARD', LEASES) == 0 then
  redis.call('DEL', RUNNING) -- a damaged record may have left its count behind
end
-- A cancel removes the task's entry from its stream in the same script, so a member only reminds of that.
return #redis.call('SPOP', CANCELLED, ARGV[2])
