-- Tells a worker to be quiet, to resume or to stop. The wish stands in Redis until the worker has left, and each of its
-- heartbeats brings it; the message only makes the next one come soon. A worker that is to stop is past the other two.
-- ARGV: actor, address, request id, worker, wish. Replies {now, when it was last seen, its record, what it is told}, or a
-- word when it is too late: read again, a worker that is quick to leave would be gone.
--#include arguments clock unhindered audit
expect('ttttt')
local worker, wish = ARGV[4], ARGV[5]
local seen_at = redis.call('ZSCORE', WORKERS, worker)
if not seen_at then
  return 'NOT_FOUND'
end
local state = redis.call('HGET', WORKER .. worker, 'state')
if not state then
  return 'GONE'
end
local told = TOLD .. worker
local stands = redis.call('HGET', told, 'wish')
if wish == 'resume' then
  if stands == 'stop' or state == 'draining' then
    return 'LEAVING'
  end
  redis.call('DEL', told)
elseif stands ~= 'stop' and stands ~= wish then
  redis.call('HSET', told, 'wish', wish, 'by', ARGV[1], 'at', now)
  redis.call('PEXPIRE', told, TOLD_MS)
end
audit(wish, 'worker:' .. worker, '', '')
redis.call('PUBLISH', CONTROL .. worker, '{"told":true}')
return { now, seen_at, redis.call('HGETALL', WORKER .. worker), redis.call('HGETALL', told) }
