-- Extends the leases of running tasks, never past a task's own timeout plus a grace.
-- ARGV: worker, then id and attempt per task. Replies {lost ids, ids whose cancel was asked for}.
--#include arguments clock unhindered index record
expect('t', 'tt')
local worker = ARGV[1]
local lost, cancel, leases = {}, {}, {}
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  local v = fields_of(id, 'status', 'attempt', 'worker_id', 'cancel_requested', 'started_at', 'timeout_ms', 'given_back')
  if v[1] ~= 'running' or v[2] ~= ARGV[i + 1] or v[3] ~= worker then
    lost[#lost + 1] = id
  else
    if v[4] then
      cancel[#cancel + 1] = id
    end
    -- A task given back waits for its next worker; this thread may not know yet, and must not keep it from there.
    if not v[7] then
      local latest = (tonumber(v[5]) or now) + (tonumber(v[6]) or 0) + GRACE_MS
      leases[#leases + 1] = math.min(now + LEASE_MS, math.max(latest, now))
      leases[#leases + 1] = id
    end
  end
end
each_chunk(leases, function(...) redis.call('ZADD', LEASES, 'XX', ...) end)
return { lost, cancel }
