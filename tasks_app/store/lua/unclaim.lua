-- Returns claims that were never released (their scheduler died) to the schedule. ARGV: token, limit, how old in ms.
-- Replies how many.
--#include arguments lock leading clock unhindered index
expect('tnn')
local ids = redis.call('ZRANGEBYSCORE', CLAIMED, '-inf', now - tonumber(ARGV[3]), 'LIMIT', 0, ARGV[2])
local due = {}
for i, id in ipairs(ids) do
  due[2 * i - 1] = now
  due[2 * i] = id
end
each_chunk(ids, function(...) redis.call('ZREM', CLAIMED, ...) end)
each_chunk(due, function(...) redis.call('ZADD', SCHEDULE, ...) end)
return #ids
