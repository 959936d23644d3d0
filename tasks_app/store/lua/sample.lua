-- Samples the queues' depth and how long their longest waiting task has been in its stream. ARGV: token, queues...
--#include arguments lock leading clock unhindered
expect('t', 't')
local key = STATS .. 'm:' .. math.floor(now / 60000)

local function keep_greatest(field, value)
  if value > (tonumber(redis.call('HGET', key, field)) or -1) then
    redis.call('HSET', key, field, value)
  end
end

-- From where a lane is undelivered: all of it before its first claim, which makes the group.
local function undelivered(stream)
  local found = redis.pcall('XINFO', 'GROUPS', stream)
  for _, group in ipairs(found.err and {} or found) do
    local facts = {}
    for i = 1, #group, 2 do
      facts[group[i]] = group[i + 1]
    end
    if facts.name == GROUP then
      return '(' .. facts['last-delivered-id']
    end
  end
  return '-'
end

-- By the undelivered entries, as store/waiting.py counts it.
local function longest_wait(queue)
  local lanes, longest = {}, 0
  for band = 0, 9 do
    lanes[band + 1] = queue .. ':p' .. band
  end
  for i, is_ready in ipairs(redis.call('SMISMEMBER', READY, unpack(lanes))) do
    if is_ready == 1 then
      local stream = STREAM .. lanes[i]
      local first = redis.pcall('XRANGE', stream, undelivered(stream), '+', 'COUNT', 1)[1]
      if first then
        longest = math.max(longest, now - string.match(first[1], '^%d+'))
      end
    end
  end
  return longest
end

for i = 2, #ARGV do
  local queue = ARGV[i]
  keep_greatest(queue .. '||depth', redis.call('ZCARD', INDEX .. 'queued:q:' .. queue))
  keep_greatest(queue .. '||oldest', longest_wait(queue))
end
redis.call('PEXPIRE', key, MINUTE_STATS_TTL_MS)
return 'OK'
