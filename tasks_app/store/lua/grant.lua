-- Makes an API key. ARGV: actor, address, request id, name, how long it lasts in ms ('': for ever), what the audit says,
-- then its fields (api_keys.py).
--#include arguments clock audit
expect('ttttot', 'tt')
local name, key = ARGV[4], API_KEY .. ARGV[4]
if redis.call('EXISTS', key) == 1 then
  return 'TAKEN'
end
if redis.call('SCARD', API_KEYS) >= MAX_API_KEYS then
  return 'TOO_MANY'
end
redis.call('HSET', key, 'created_at', now, 'created_by', ARGV[1], unpack(ARGV, 7))
if ARGV[5] ~= '' then
  redis.call('HSET', key, 'expires_at', now + ARGV[5])
end
redis.call('SADD', API_KEYS, name)
audit('grant', 'key:' .. name, '', ARGV[6])
return 'OK'
