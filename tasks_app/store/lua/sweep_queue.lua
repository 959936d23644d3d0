-- Repairs one queue: marks its lanes ready, gives queued tasks whose entry is gone a new one, forgets those whose record
-- is gone, settles what is pending on consumers that are gone, and removes those. ARGV: token, queue, where the last look ended ('' from the start),
-- limit. Replies where the next look begins ('' when the queue is done).
--#include lock leading clock unhindered transition index record idempotency terminal stats event enqueue ack retention commit
local queue, from, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])

-- Queued tasks without an entry: somebody deleted or trimmed the stream.
local ids = redis.call('ZRANGEBYLEX', INDEX .. 'queued:q:' .. queue, from == '' and '-' or '(' .. from, '+', 'LIMIT', 0, limit)
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
  local indexes = { INDEX .. 'queued', INDEX .. 'queued:q:' .. queue }
  for _, task_type in ipairs(redis.call('SRANDMEMBER', TYPES, CHUNK)) do
    indexes[#indexes + 1] = INDEX .. 'queued:t:' .. task_type
  end
  for _, key in ipairs(indexes) do
    redis.call('ZREM', key, unpack(lost))
  end
end

if from == '' then
  for band = 0, 9 do
    local lane = queue .. ':p' .. band
    local stream = STREAM .. lane
    if redis.call('EXISTS', stream) == 1 then
      local groups_here = redis.call('XINFO', 'GROUPS', stream)
      if redis.call('XLEN', stream) > 0 then
        lanes[lane] = true
      end
      if #groups_here > 0 then
        for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', stream, GROUP)) do
          local name, pending = consumer[2], tonumber(consumer[4])
          if redis.call('EXISTS', WORKER .. name) == 0 then
            if pending == 0 then
              redis.call('XGROUP', 'DELCONSUMER', stream, GROUP, name)
            else
              for _, p in ipairs(redis.call('XPENDING', stream, GROUP, '-', '+', 50, name)) do
                local e = redis.call('XRANGE', stream, p[1], p[1])[1]
                local task = e and e[2] and e[2][2] and read(e[2][2])
                if not (task and task.status == 'running' and task.entry == p[1]) then
                  ack(lane, p[1])
                end
              end
            end
          end
        end
      end
    end
  end
end
commit()
return #ids == limit and ids[#ids] or ''
