-- Records an operation, unless the same one runs already or too many do. ARGV: actor, address, request id, the end of its
-- id, its signature, what the audit says, then names and values of its record. Replies {word, id}.
--#include arguments clock audit
expect('tttttt', 'tt')
local id = string.format('%06x%06x7%03x', math.floor(now / 16777216), now % 16777216, time[2] % 1000 * 4) .. ARGV[4]
local running = 0
for _, other in ipairs(redis.call('ZRANGE', OPERATING, 0, -1)) do
  local signature = redis.call('HGET', OPERATION .. other, 'signature')
  if signature == ARGV[5] then
    return { 'RUNNING', other }
  elseif signature then
    running = running + 1
  else
    redis.call('ZREM', OPERATING, other)
  end
end
if running >= MAX_OPERATING then
  return { 'FULL', '' }
end
local kept = redis.call('ZRANGE', OPERATIONS, 0, -1)
local surplus = #kept - MAX_OPERATIONS + 1
for _, other in ipairs(kept) do
  if redis.call('EXISTS', OPERATION .. other) == 0 then
    redis.call('ZREM', OPERATIONS, other)
    surplus = surplus - 1
  end
end
for _, other in ipairs(kept) do
  if surplus > 0 and not redis.call('ZSCORE', OPERATING, other) then
    surplus = surplus - redis.call('ZREM', OPERATIONS, other)
    redis.call('DEL', OPERATION .. other)
  end
end
redis.call('HSET', OPERATION .. id, 'state', 'running', 'place', '', 'created_at', now, 'actor', ARGV[1], 'source', ARGV[2],
  'request_id', ARGV[3], 'signature', ARGV[5], unpack(ARGV, 7))
redis.call('ZADD', OPERATIONS, 0, id)
redis.call('ZADD', OPERATING, 0, id)
for _, key in ipairs({ OPERATION .. id, OPERATIONS, OPERATING }) do
  redis.call('PEXPIRE', key, OPERATION_TTL_MS)
end
audit('operation-begin', 'operation:' .. id, '', ARGV[6])
return { 'OK', id }
