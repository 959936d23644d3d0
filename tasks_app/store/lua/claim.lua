-- Takes up to `limit` tasks from the lanes of the given queues (none: every queue), queue by queue in order, p9 first,
-- and marks them running. Entries that must not run are absorbed.
-- ARGV: worker, limit, turn, queues... Replies {claimed tasks, absorbed entries}. An answer may be lost on its way: asked
-- again for the same turn, what it handed out is handed out again. A call that arrives after a later turn takes nothing.
--#include arguments clock unhindered transition index record idempotency terminal stats event enqueue ack retention attempts deadletter scheduled damaged handover commit
expect('tnn', 't')
local worker, free, turn = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local reads_left = free + 500 -- absorbing is bounded too
local MOST_LANES = 100
local taken, absorbed, leases, uncancelled = {}, {}, {}, {}

-- The queues to serve, in order.
local order = {}
if ARGV[4] then
  order = { unpack(ARGV, 4) }
else
  -- Nobody asked for an order, so each call starts at another queue and none starves. Of very many lanes it sees some.
  local names = {}
  for _, lane in ipairs(redis.call('SRANDMEMBER', READY, MOST_LANES)) do
    local queue = string.match(lane, '^(.*):p%d$')
    if queue and not names[queue] then
      names[queue] = true
      names[#names + 1] = queue
    end
  end
  table.sort(names)
  for i = 1, #names do
    order[i] = names[(turn + i - 1) % #names + 1]
  end
end

-- The priorities of a queue with something undelivered, highest first; none while it is paused.
local function ready(queue)
  local bands, lanes = {}, {}
  for i = 1, 10 do
    lanes[i] = queue .. ':p' .. 10 - i
  end
  for i, is_ready in ipairs(redis.call('SMISMEMBER', READY, unpack(lanes))) do
    if is_ready == 1 then
      bands[#bands + 1] = tostring(10 - i)
    end
  end
  if #bands > 0 and redis.call('EXISTS', QUEUE .. queue .. ':paused') == 1 then
    return {}
  end
  return bands
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

local function absorb(lane, entry, id, queue, reason, task_type)
  ack(lane, entry)
  if reason ~= 'expired' then -- that is counted as an end
    tally(queue, task_type, 'absorbed')
  end
  absorbed[#absorbed + 1] = { id or '', queue, reason }
end

-- Why an entry did not lead to a start. The record is read again, in full: this is rare.
local function refuse(lane, queue, entry, id, attempt)
  local task = read(id)
  if not task.readable then
    if not is_recorded(id) then
      return absorb(lane, entry, id, queue, 'missing')
    end
    put_aside(task, queue)
    return absorb(lane, entry, id, queue, 'unreadable', task.type)
  end
  if task.status == 'running' and task.entry == entry then
    return -- a group made anew delivers running tasks' entries again; their owner or the reaper settles them
  end
  if task.status ~= 'queued' or task.entry ~= entry or task.attempt ~= tonumber(attempt) then
    if task.status == 'cancelled' then
      uncancelled[#uncancelled + 1] = id
    end
    local again = task.status == 'queued' or task.status == 'running'
    return absorb(lane, entry, id, queue, again and 'duplicate' or task.status, task.type)
  end
  if expired(task) then
    ended(task, 'expired')
    return absorb(lane, entry, id, queue, 'expired')
  end
  task.queue = queue -- it says of itself that it waits in another lane than the one it was found in
  put_aside(task)
  return absorb(lane, entry, id, queue, 'unreadable', task.type)
end

local function take(lane, queue, band, entry, fields)
  local id, attempt = fields[2], fields[4]
  if fields[1] ~= 'task_id' or not id then
    return absorb(lane, entry, nil, queue, 'malformed')
  end
  -- Only what a start needs: each field asked for costs a walk along the record.
  local v = fields_of(id, 'status', 'queue', 'task_type', 'priority', 'attempt', 'max_attempts', 'timeout_ms', 'payload',
    'enqueued_at', 'entry', 'metadata', 'expires_at')
  if v[1] ~= 'queued' or v[10] ~= entry or v[5] ~= attempt or v[2] ~= queue or v[4] ~= band or not v[3]
    or not tonumber(v[6]) or has_passed(v[12]) then
    return refuse(lane, queue, entry, id, attempt)
  end
  local group = transition({ id = id, status = 'queued', queue = queue, type = v[3] }, 'running', 'worker_id', worker,
    'started_at', now)
  if attempt ~= '1' then
    forget_attempt(id)
  end
  observe(group.waits, now - (tonumber(v[9]) or now))
  leases[#leases + 1] = now + LEASE_MS
  leases[#leases + 1] = id
  free = free - 1
  taken[#taken + 1] = { id, attempt, v[6], v[3], queue, band, v[7] or '', v[8] or '', v[11] or '{}' } -- as for_worker()
end

local last, moment, handed = string.match(redis.call('GET', HANDED .. worker) or '', '^(%d+) (%d+) (.*)$')
last = tonumber(last) or -1
if turn < last then
  return { {}, {} }
end

-- What the lost answer to this turn had named; this worker runs it without knowing.
local function hand_out_again()
  for id in string.gmatch(handed, '%x+') do
    local v = fields_of(id, 'status', 'worker_id', 'started_at', 'attempt', 'max_attempts', 'task_type', 'queue', 'priority',
      'timeout_ms', 'payload', 'metadata')
    if free > 0 and v[1] == 'running' and v[2] == worker and v[3] == moment then
      leases[#leases + 1] = now + LEASE_MS
      leases[#leases + 1] = id
      free = free - 1
      taken[#taken + 1] = { id, v[4], v[5], v[6], v[7], v[8], v[9] or '', v[10] or '', v[11] or '{}' }
    end
  end
end

local function drain(queue, band)
  local lane = queue .. ':p' .. band
  while free > 0 and reads_left > 0 do
    local wanted = math.min(free, reads_left)
    local entries = read_lane(STREAM .. lane, wanted)
    for _, e in ipairs(entries) do
      take(lane, queue, band, e[1], e[2] or {})
    end
    reads_left = reads_left - #entries
    if #entries < wanted then
      redis.call('SREM', READY, lane)
      return
    end
  end
end

if turn == last then
  hand_out_again()
end
local served, again = 0, #taken
while again == 0 and served < #order and free > 0 and reads_left > 0 do
  served = served + 1
  for _, band in ipairs(ready(order[served])) do
    drain(order[served], band)
  end
end

each_chunk(leases, function(...) redis.call('ZADD', LEASES, ...) end)
each_chunk(uncancelled, function(...) redis.call('SREM', CANCELLED, ...) end)
if free <= 0 or reads_left <= 0 or again > 0 then
  -- This worker is full, or has not looked; whoever waits at a bell may take what is left.
  for i = math.max(served, 1), #order do
    if #ready(order[i]) > 0 then
      ring(order[i])
      break
    end
  end
end
if #taken > again then
  local ids = {}
  for i, task in ipairs(taken) do
    ids[i] = task[1]
  end
  redis.call('SET', HANDED .. worker, turn .. ' ' .. now .. ' ' .. table.concat(ids, ' '), 'PX', LEASE_MS)
end
commit()
return { taken, absorbed }
