-- Takes up to `limit` tasks from the lanes of the given queues (none: every queue), queue by queue in order, p9 first,
-- and marks them running. Entries that must not run are absorbed.
-- ARGV: worker, limit, turn, queues... Replies {claimed tasks, absorbed entries}.
--#include clock unhindered transition index record idempotency terminal stats event enqueue ack retention attempts deadletter scheduled damaged handover commit
local worker, free, turn = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local reads_left = free + 500 -- absorbing is bounded too
local taken, absorbed, leases, uncancelled = {}, {}, {}, {}

-- Lanes with something undelivered, by queue.
local bands, names = {}, {}
for _, lane in ipairs(redis.call('SMEMBERS', READY)) do
  local queue, band = string.match(lane, '^(.*):p(%d)$')
  if queue then
    if not bands[queue] then
      bands[queue] = {}
      names[#names + 1] = queue
    end
    bands[queue][band] = true
  end
end

local order = {}
if ARGV[4] then
  for i = 4, #ARGV do
    if bands[ARGV[i]] then
      order[#order + 1] = ARGV[i]
    end
  end
else
  -- Nobody asked for an order, so each call starts at another queue and none starves.
  table.sort(names)
  for i = 1, #names do
    order[i] = names[(turn + i - 1) % #names + 1]
  end
end

local function read_lane(stream, count)
  local reply = redis.pcall('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', count, 'STREAMS', stream, '>')
  if type(reply) == 'table' and reply.err then
    -- The group is made on first use and again after it was lost, from 0: what waits in the stream counts.
    redis.call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
    reply = redis.call('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', count, 'STREAMS', stream, '>')
  end
  return reply and reply[1] and reply[1][2] or {}
end

local function absorb(lane, entry, id, queue, reason)
  ack(lane, entry)
  absorbed[#absorbed + 1] = { id or '', queue, reason }
end

local function take(lane, queue, entry, fields)
  local id, attempt = fields[2], tonumber(fields[4])
  if fields[1] ~= 'task_id' or not id then
    return absorb(lane, entry, nil, queue, 'malformed')
  end
  local task = read(id, 'timeout_ms', 'payload', 'metadata')
  if not task.readable then
    if not is_recorded(id) then
      return absorb(lane, entry, id, queue, 'missing')
    end
    put_aside(task, queue)
    return absorb(lane, entry, id, queue, 'unreadable')
  end
  if task.status == 'running' and task.entry == entry then
    return -- a group made anew delivers running tasks' entries again; their owner or the reaper settles them
  end
  if task.status ~= 'queued' or task.entry ~= entry or task.attempt ~= attempt then
    if task.status == 'cancelled' then
      uncancelled[#uncancelled + 1] = id
    end
    return absorb(lane, entry, id, queue, (task.status == 'queued' or task.status == 'running') and 'duplicate' or task.status)
  end
  if expired(task) then
    ended(task, 'expired')
    return absorb(lane, entry, id, queue, 'expired')
  end
  local group = transition(task, 'running', 'worker_id', worker, 'started_at', now)
  if task.attempt > 1 then
    forget_attempt(id)
  end
  observe(group.waits, now - (task.enqueued_at or now))
  leases[#leases + 1] = now + LEASE_MS
  leases[#leases + 1] = id
  free = free - 1
  taken[#taken + 1] = for_worker(task, unpack(task.more, FIRST_EXTRA, FIRST_EXTRA + 2))
end

local function drain(queue, lane)
  while free > 0 and reads_left > 0 do
    local wanted = math.min(free, reads_left)
    local entries = read_lane(STREAM .. lane, wanted)
    for _, e in ipairs(entries) do
      take(lane, queue, e[1], e[2] or {})
    end
    reads_left = reads_left - #entries
    if #entries < wanted then
      redis.call('SREM', READY, lane)
      bands[queue][string.sub(lane, -1)] = nil
      return
    end
  end
end

for _, queue in ipairs(order) do
  if free <= 0 or reads_left <= 0 then
    break
  end
  if redis.call('EXISTS', QUEUE .. queue .. ':paused') == 0 then
    for band = 9, 0, -1 do
      if bands[queue][tostring(band)] then
        drain(queue, queue .. ':p' .. band)
      end
    end
  else
    bands[queue] = {}
  end
end

each_chunk(leases, function(...) redis.call('ZADD', LEASES, ...) end)
each_chunk(uncancelled, function(...) redis.call('SREM', CANCELLED, ...) end)
if free <= 0 or reads_left <= 0 then
  -- This worker is full; whoever waits at a bell may take what is left.
  for _, queue in ipairs(order) do
    if next(bands[queue]) then
      ring(queue)
      break
    end
  end
end
commit()
return { taken, absorbed }
