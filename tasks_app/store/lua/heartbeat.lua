-- A worker's record and its place in the list, timed by the server's clock. ARGV: worker, TTL in ms, ms since its fetch
-- loop turned and for which it has been idle ('' twice: not known), fields... Replies the wish that stands for it, or ''.
--#include arguments clock unhindered
expect('tnoo', 'tt')
local key = WORKER .. ARGV[1]
redis.call('HSET', key, 'seen_at', now, unpack(ARGV, 5))
if ARGV[3] ~= '' and ARGV[4] ~= '' then
  redis.call('HSET', key, 'turned_at', now - ARGV[3], 'idle_since', now - ARGV[4])
end
redis.call('PEXPIRE', key, ARGV[2])
redis.call('ZADD', WORKERS, now, ARGV[1])
redis.call('PEXPIRE', TOLD .. ARGV[1], TOLD_MS)
return redis.call('HGET', TOLD .. ARGV[1], 'wish') or ''
