-- Samples the queues' depth and the age of their oldest waiting task. ARGV: token, queues...
--#include arguments lock leading clock unhindered
expect('t', 't')
local key = STATS .. 'm:' .. math.floor(now / 60000)

local function keep_greatest(field, value)
  if value > (tonumber(redis.call('HGET', key, field)) or -1) then
    redis.call('HSET', key, field, value)
  end
end

for i = 2, #ARGV do
  local queue = ARGV[i]
  local waiting = INDEX .. 'queued:q:' .. queue
  keep_greatest(queue .. '||depth', redis.call('ZCARD', waiting))
  local oldest = redis.call('ZRANGE', waiting, 0, 0)[1]
  local born = oldest and tonumber(string.sub(oldest, 1, 12), 16)
  keep_greatest(queue .. '||oldest', born and math.max(0, now - born) or 0)
end
redis.call('PEXPIRE', key, MINUTE_STATS_TTL_MS)
return 'OK'
