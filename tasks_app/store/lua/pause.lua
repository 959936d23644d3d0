-- Pauses a queue. ARGV: actor, address, request id, queue, reason, until (epoch ms or '').
--#include arguments clock unhindered audit announce
expect('ttttto')
local queue = ARGV[4]
if redis.call('SISMEMBER', QUEUES, queue) == 0 then
  return 'NOT_FOUND'
end
local pause = { by = ARGV[1], at = now, reason = ARGV[5] }
if ARGV[6] ~= '' then
  pause['until'] = tonumber(ARGV[6])
end
redis.call('SET', QUEUE .. queue .. ':paused', cjson.encode(pause))
if ARGV[6] ~= '' then
  redis.call('PEXPIREAT', QUEUE .. queue .. ':paused', ARGV[6])
end
audit('pause', 'queue:' .. queue, '', ARGV[5])
announce('paused', queue)
return 'OK'
