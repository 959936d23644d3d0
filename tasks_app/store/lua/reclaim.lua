-- Settles running tasks whose lease has run out: re-adopts up to `limit` of them for this worker, buries those whose
-- attempts are used up, ends those whose cancel was asked for.
-- ARGV: worker, limit, how many expired leases to skip, queues... (none: every queue).
-- Replies {adopted tasks, settled ones, how many to skip at the next look}.
--#include arguments clock unhindered transition index record idempotency terminal stats event enqueue ack retention attempts deadletter scheduled damaged handover commit
expect('tnn', 't')
local SCAN = 200
local MOST = 50 -- changes a call: an adoption or a burial costs as much as ten looks
local worker, free, skip = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local mine, paused = nil, {}
if ARGV[4] then
  mine = {}
  for i = 4, #ARGV do
    mine[ARGV[i]] = true
  end
end
local adopted, settled, leases, gone = {}, {}, {}, {}

local function is_paused(queue)
  if paused[queue] == nil then
    paused[queue] = redis.call('EXISTS', QUEUE .. queue .. ':paused') == 1
  end
  return paused[queue]
end

local function lease(id, until_ms)
  leases[#leases + 1] = until_ms
  leases[#leases + 1] = id
end

local function count_lost(task)
  if not task.given_back then
    tally(task.queue, task.type, 'lost')
  end
end

local function settle(task, group)
  count_lost(task)
  observe(group.runs, now - (task.started_at or now))
  ack(task.queue .. ':p' .. task.priority, task.entry or '0-0')
  gone[#gone + 1] = task.id
  settled[#settled + 1] = { task.id, task.queue, task.status }
end

local function adopt(task)
  count_lost(task)
  record_attempt(task, task.given_back and 'given_back' or 'lost')
  if task.given_back then
    redis.call('HINCRBY', TASK .. task.id, 'give_backs', 1)
  else
    task.attempt = task.attempt + 1
  end
  redis.call('HSET', TASK .. task.id, 'worker_id', worker, 'attempt', task.attempt, 'started_at', now)
  forget_attempt(task.id)
  local stream = STREAM .. task.queue .. ':p' .. task.priority
  local handed = redis.pcall('XCLAIM', stream, GROUP, worker, 0, task.entry or '0-0', 'FORCE', 'JUSTID')
  if handed.err then
    redis.call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
    redis.call('XCLAIM', stream, GROUP, worker, 0, task.entry or '0-0', 'FORCE', 'JUSTID')
  end
  lease(task.id, now + LEASE_MS)
  free = free - 1
  -- Only now: payloads may be large, and most of what a full worker looks at is not for it.
  adopted[#adopted + 1] = for_worker(task, unpack(fields_of(task.id, 'timeout_ms', 'payload', 'metadata')))
end

local ids = redis.call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', skip, SCAN)
for _, id in ipairs(ids) do
  if #adopted + #settled >= MOST then
    break
  end
  local task = read(id, 'given_back')
  task.given_back = task.more[FIRST_EXTRA]
  if not task.readable and is_recorded(id) then
    put_aside(task)
    settled[#settled + 1] = { id, task.queue or '', DAMAGED }
  elseif task.status ~= 'running' then
    gone[#gone + 1] = id -- a lease without its running task guards nothing
  elseif task.cancel_requested then
    settle(task, ended(task, 'cancelled'))
  elseif task.attempt >= task.max_attempts and not task.given_back then
    local message = 'The worker was lost while it ran attempt ' .. task.attempt .. ' of ' .. task.max_attempts
    record_attempt(task, 'lost', 'WorkerLost', message)
    settle(task, bury(task, 'WorkerLost', message, ''))
  elseif is_paused(task.queue) then
    lease(id, now + 1000) -- no task of a paused queue starts; look again in a second
  elseif free > 0 and (not mine or mine[task.queue]) then
    adopt(task)
  end
end
each_chunk(leases, function(...) redis.call('ZADD', LEASES, ...) end)
each_chunk(gone, function(...) redis.call('ZREM', LEASES, ...) end)
commit()
-- A page full of what this worker may not touch (its queue has no worker now) must not hide what stands behind it.
local stuck = #ids == SCAN and #leases == 0 and #gone == 0 and #settled == 0
return { adopted, settled, stuck and skip + SCAN or 0 }
