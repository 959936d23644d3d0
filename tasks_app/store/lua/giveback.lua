-- Ends the leases of tasks this worker will not finish, so that another one re-adopts them at once.
-- ARGV: worker, then id and attempt per task. Replies how many.
--#include arguments clock unhindered index record enqueue
expect('t', 'tt')
local worker = ARGV[1]
local leases, queues = {}, {}
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  local v = fields_of(id, 'status', 'attempt', 'worker_id', 'queue')
  if v[1] == 'running' and v[2] == ARGV[i + 1] and v[3] == worker then
    redis.call('HSET', TASK .. id, 'given_back', 1)
    leases[#leases + 1] = now
    leases[#leases + 1] = id
    queues[v[4]] = true
  end
end
each_chunk(leases, function(...) redis.call('ZADD', LEASES, ...) end)
for queue in pairs(queues) do
  ring(queue)
end
return #leases / 2
