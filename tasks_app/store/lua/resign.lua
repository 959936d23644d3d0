-- Gives the leader's lock up, if the caller holds it. ARGV: token.
--#include arguments lock
expect('t')
if leads() then
  return redis.call('DEL', LOCK)
end
return 0
