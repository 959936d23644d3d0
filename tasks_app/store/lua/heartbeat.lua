-- A worker's record and its place in the list, timed by the server's clock. ARGV: worker, TTL in ms, fields...
--#include clock unhindered
local key = WORKER .. ARGV[1]
redis.call('HSET', key, 'seen_at', now, unpack(ARGV, 3))
redis.call('PEXPIRE', key, ARGV[2])
redis.call('ZADD', WORKERS, now, ARGV[1])
return 'OK'
