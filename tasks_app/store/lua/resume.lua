-- Resumes a queue. ARGV: actor, address, request id, queue.
--#include arguments clock audit enqueue announce
expect('tttt')
local queue = ARGV[4]
if redis.call('SISMEMBER', QUEUES, queue) == 0 then
  return 'NOT_FOUND'
end
redis.call('DEL', QUEUE .. queue .. ':paused')
ring(queue)
audit('resume', 'queue:' .. queue, '', '')
announce('resumed', queue)
return 'OK'
