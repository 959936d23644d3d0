-- Gives the leader's lock up, if the caller holds it. ARGV: token.
--#include lock
if leads() then
  return redis.call('DEL', LOCK)
end
return 0
