-- Adds an ended minute's counters to the totals, which never fall. A total is `<value> <minute>`: the sum through that
-- minute. A minute is added to a total once, however often it is sent.
-- ARGV: token, minute, 1 with the minute's last part else 0, then field and amount...
-- Replies 'OK'.
--#include arguments lock leading clock unhindered
expect('tnt', 'tn')
local minute, last = tonumber(ARGV[2]), ARGV[3] == '1'
local fields, amounts, pairs_seen = {}, {}, {}
for i = 4, #ARGV, 2 do
  fields[#fields + 1] = ARGV[i]
  amounts[#amounts + 1] = tonumber(ARGV[i + 1])
end
if #fields > 0 then
  local writes, names = {}, {}
  for i, text in ipairs(redis.call('HMGET', TOTALS, unpack(fields))) do
    local value, through = string.match(text or '', '^(%d+) (%d+)$')
    if not value or tonumber(through) < minute then
      writes[#writes + 1] = fields[i]
      writes[#writes + 1] = string.format('%.0f %d', (tonumber(value) or 0) + amounts[i], minute)
    end
    local pair = string.match(fields[i], '^(.*)|[^|]*$')
    if not pairs_seen[pair] and string.match(pair, '[^|]*$') ~= OTHER_TYPES then
      pairs_seen[pair] = true
      names[#names + 1] = pair
    end
  end
  if #writes > 0 then
    redis.call('HSET', TOTALS, unpack(writes))
  end
  if #names > 0 then
    redis.call('SADD', SERIES, unpack(names))
  end
end
if last and minute > (tonumber(redis.call('GET', COUNTED)) or 0) then
  redis.call('SET', COUNTED, minute)
end
return 'OK'
