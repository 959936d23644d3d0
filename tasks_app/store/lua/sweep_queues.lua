-- Repairs queues, one after the other until LOOKS are spent: marks a queue's lanes ready, gives queued tasks whose entry
-- is gone a new one, forgets those whose record is gone, settles what is pending on consumers that are gone, and removes
-- those. ARGV: token, where the last look at the first queue ended ('' from the start), queues...
-- Replies {how many queues are done, where the next look at the one after them begins}.
--#include arguments lock leading clock unhindered transition index record idempotency terminal stats event enqueue ack retention commit
expect('tt', 't')
local LOOKS = 200 -- at records and at consumers
local FORGOTTEN = 5000 -- lost ids, times the indexes by type that each may stand in
local looks = LOOKS
local alive = {}

local function forget(queue, lost)
  local types = redis.call('SRANDMEMBER', TYPES, CHUNK)
  local most = math.max(1, math.floor(FORGOTTEN / #types))
  local indexes = { INDEX .. 'queued', INDEX .. 'queued:q:' .. queue }
  for _, task_type in ipairs(types) do
    indexes[#indexes + 1] = INDEX .. 'queued:t:' .. task_type
  end
  for _, key in ipairs(indexes) do
    redis.call('ZREM', key, unpack(lost, 1, math.min(most, #lost)))
  end
end

-- Queued tasks without an entry: somebody deleted or trimmed the stream. Returns where to go on, '' at the end.
local function repair_tasks(queue, from)
  local wanted = math.max(looks, 50) -- however much its lanes took
  local ids = redis.call('ZRANGEBYLEX', INDEX .. 'queued:q:' .. queue, from == '' and '-' or '(' .. from, '+', 'LIMIT', 0,
    wanted)
  local lost = {}
  for _, id in ipairs(ids) do
    local task = read(id)
    if not task.status and not is_recorded(id) then
      lost[#lost + 1] = id
    end
    if task.readable and task.status == 'queued' then
      local entry = task.entry or '0-0'
      if #redis.call('XRANGE', STREAM .. queue .. ':p' .. task.priority, entry, entry) == 0 then
        redis.call('HSET', TASK .. id, 'entry', enqueue(id, queue, task.priority, task.attempt))
      end
    end
  end
  if #lost > 0 then
    forget(queue, lost)
  end
  looks = looks - #ids
  return #ids == wanted and ids[#ids] or ''
end

local function settle_pending(lane, consumer)
  local found = redis.call('XPENDING', STREAM .. lane, GROUP, '-', '+', 50, consumer)
  looks = looks - #found
  for _, p in ipairs(found) do
    local e = redis.call('XRANGE', STREAM .. lane, p[1], p[1])[1]
    local task = e and e[2] and e[2][2] and read(e[2][2])
    if not (task and task.status == 'running' and task.entry == p[1]) then
      ack(lane, p[1])
    end
  end
end

local function repair_lane(lane)
  local stream = STREAM .. lane
  if redis.call('XLEN', stream) > 0 then
    lanes[lane] = true
  end
  if #redis.call('XINFO', 'GROUPS', stream) == 0 then
    return
  end
  for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', stream, GROUP)) do
    local name, pending = consumer[2], tonumber(consumer[4])
    if alive[name] == nil then
      alive[name] = redis.call('EXISTS', WORKER .. name) == 1
      looks = looks - 1
    end
    if not alive[name] then
      if pending == 0 then
        redis.call('XGROUP', 'DELCONSUMER', stream, GROUP, name)
      elseif looks > 0 then
        settle_pending(lane, name) -- else at the next round
      end
    end
  end
end

local done, from = 0, ARGV[2]
for i = 3, #ARGV do
  if looks <= 0 then
    break
  end
  local queue = ARGV[i]
  looks = looks - 10
  if from == '' then
    for band = 0, 9 do
      if redis.call('EXISTS', STREAM .. queue .. ':p' .. band) == 1 then
        repair_lane(queue .. ':p' .. band)
      end
    end
  end
  from = repair_tasks(queue, from)
  if from ~= '' then
    break
  end
  done = done + 1
end
commit()
return { done, from }
