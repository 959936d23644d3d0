-- Counts refused submissions. ARGV: reason and number...
--#include arguments unhindered
expect('', 'tn')
for i = 1, #ARGV, 2 do
  redis.call('HINCRBY', REFUSED, ARGV[i], ARGV[i + 1])
end
return 'OK'
