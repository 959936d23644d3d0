-- Takes due tasks out of the schedule into the claimed set. ARGV: token, limit.
-- Replies {ids, ms until the next one is due or -1}.
--#include arguments lock leading clock unhindered index
expect('tn')
local ids = redis.call('ZRANGEBYSCORE', SCHEDULE, '-inf', now, 'LIMIT', 0, ARGV[2])
if #ids > 0 then
  local claims = {}
  for i, id in ipairs(ids) do
    claims[2 * i - 1] = now
    claims[2 * i] = id
  end
  each_chunk(ids, function(...) redis.call('ZREM', SCHEDULE, ...) end)
  each_chunk(claims, function(...) redis.call('ZADD', CLAIMED, ...) end)
end
local nearest = redis.call('ZRANGE', SCHEDULE, 0, 0, 'WITHSCORES')
return { ids, nearest[2] and math.max(0, tonumber(nearest[2]) - now) or -1 }
