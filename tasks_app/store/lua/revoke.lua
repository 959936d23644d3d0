-- Withdraws an API key; the next request with it is refused. ARGV: actor, address, request id, name.
--#include arguments clock unhindered audit
expect('tttt')
local name = ARGV[4]
local known = redis.call('SREM', API_KEYS, name)
if redis.call('DEL', API_KEY .. name) + known == 0 then
  return 'NOT_FOUND'
end
audit('revoke', 'key:' .. name, '', '')
return 'OK'
