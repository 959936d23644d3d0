-- Takes the leader's lock or renews it. ARGV: token, owner. Replies 1 when the caller leads.
--#include arguments lock unhindered
expect('tt')
if leads() then
  redis.call('PEXPIRE', LOCK, LOCK_MS)
  return 1
end
return redis.call('SET', LOCK, ARGV[1] .. ' ' .. ARGV[2], 'NX', 'PX', LOCK_MS) and 1 or 0
