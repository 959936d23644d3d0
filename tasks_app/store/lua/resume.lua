-- Resumes a queue. ARGV: actor, address, request id, queue.
--#include clock audit enqueue
local queue = ARGV[4]
if redis.call('SISMEMBER', QUEUES, queue) == 0 then
  return 'NOT_FOUND'
end
redis.call('DEL', QUEUE .. queue .. ':paused')
ring(queue)
audit('resume', 'queue:' .. queue, '', '')
redis.call('PUBLISH', EVENTS, cjson.encode({ ts = now, events = { { status = 'resumed', queue = queue, type = '', count = 0,
  ids = {} } } }))
return 'OK'
