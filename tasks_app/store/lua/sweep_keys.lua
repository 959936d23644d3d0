-- Keeps the idempotency keys of live tasks alive: an expiry that comes near is moved on. ARGV: token, limit.
--#include arguments lock leading clock unhindered record idempotency
expect('tn')
local extended = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYED, '-inf', now + IDEM_TTL_MS / 2, 'LIMIT', 0, ARGV[2])) do
  local v = fields_of(id, 'status', 'queue', 'idempotency_key')
  if v[1] and not TERMINAL[v[1]] and v[2] and v[3] then
    redis.call('PEXPIRE', key_name(v[2], v[3]), IDEM_TTL_MS)
    redis.call('ZADD', KEYED, now + IDEM_TTL_MS, id)
    extended = extended + 1
  else
    redis.call('ZREM', KEYED, id)
  end
end
return extended
