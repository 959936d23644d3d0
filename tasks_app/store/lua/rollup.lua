-- Sums ten minutes' statistics into one hash, and six of those into an hour's. Computed anew from its parts each time,
-- so doing it twice does no harm. ARGV: token. Replies how many ten-minute spans are left to do.
--#include arguments lock leading clock unhindered
expect('t')
local TEN_MS = 600000
local SAMPLED = { depth = true, oldest = true }

local function sum(target, grain, first, count, ttl_ms)
  local totals = {}
  for number = first, first + count - 1 do
    local fields = redis.call('HGETALL', STATS .. grain .. ':' .. number)
    for i = 1, #fields, 2 do
      local name, value = fields[i], tonumber(fields[i + 1]) or 0
      if SAMPLED[string.match(name, '[^|]*$')] then
        totals[name] = math.max(totals[name] or 0, value)
      else
        totals[name] = (totals[name] or 0) + value
      end
    end
  end
  redis.call('DEL', target)
  for name, value in pairs(totals) do
    redis.call('HSET', target, name, value)
  end
  redis.call('PEXPIRE', target, ttl_ms)
end

local finished = math.floor(now / TEN_MS) - 1
-- After a long silence only what the minutes still hold is worth summing.
local last = math.max(tonumber(redis.call('GET', ROLLED)) or 0, finished - 48)
if last < finished then
  local span = last + 1
  sum(STATS .. 't:' .. span, 'm', span * 10, 10, TEN_STATS_TTL_MS)
  local hour = math.floor(span / 6)
  sum(STATS .. 'h:' .. hour, 't', hour * 6, 6, HOUR_STATS_TTL_MS)
  redis.call('SET', ROLLED, span)
  last = span
end
return finished - last
