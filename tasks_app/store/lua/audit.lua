-- Notes what was done outside the queue, such as to a user. ARGV: actor, address, request id, action, target, detail.
--#include arguments clock audit
expect('tttttt')
audit(ARGV[4], ARGV[5], '', ARGV[6])
return 'OK'
