-- Lets the holder of an API key in or not: one call a request. ARGV: name, digest of the secret that was sent, tokens that
-- the request takes, rate of keys without one of their own (requests a second, 0: no limit).
-- Replies {'OK', scopes, queues}, {'LIMITED', ms until there is a token}, {'EXPIRED'} or {'WRONG'}.
--#include clock
local key, cost = API_KEY .. ARGV[1], tonumber(ARGV[3])
local v = redis.pcall('HMGET', key, 'digest', 'expires_at', 'rate', 'used_at', 'tokens', 'filled_at', 'scopes', 'queues')
-- Lua compares texts by their addresses, so this tells nothing by the time it takes.
if v.err or v[1] ~= ARGV[2] or not v[7] or not v[8] then
  return { 'WRONG' }
end
if v[2] and now >= (tonumber(v[2]) or 0) then
  return { 'EXPIRED' }
end
local changes = {}
if now - (tonumber(v[4]) or 0) >= 60000 then
  changes = { 'used_at', now }
end
local rate = tonumber(v[3]) or tonumber(ARGV[4])
if rate > 0 and cost > 0 then
  -- A bucket for a second's worth of requests, full at first. A clock that was set back must not empty it.
  local most = math.max(1, rate)
  local spell = math.max(0, now - (tonumber(v[6]) or 0))
  local tokens = math.min(most, (tonumber(v[5]) or most) + spell * rate / 1000)
  if tokens < cost then
    return { 'LIMITED', math.ceil((cost - tokens) * 1000 / rate) }
  end
  local n = #changes
  changes[n + 1], changes[n + 2] = 'tokens', string.format('%.6f', tokens - cost)
  changes[n + 3], changes[n + 4] = 'filled_at', now
end
if changes[1] then
  -- A server that takes no writes (its memory or disk is full) still lets holders in; it only cannot count them.
  redis.pcall('HSET', key, unpack(changes))
end
return { 'OK', v[7], v[8] }
