-- Writes some sums of a span of time. They are whole sums, so writing them twice does no harm.
-- ARGV: token, grain, number of the span, its time to live in ms, the ten minutes that are summed up with this part or '',
-- then field and sum... Replies 'OK'.
--#include arguments lock leading unhindered
expect('ttnno', 'tn')
local key = STATS .. ARGV[2] .. ':' .. ARGV[3]
if ARGV[6] then
  redis.call('HSET', key, unpack(ARGV, 6))
  redis.call('PEXPIRE', key, ARGV[4])
end
if ARGV[5] ~= '' then
  redis.call('SET', ROLLED, ARGV[5])
end
return 'OK'
