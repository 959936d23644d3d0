-- Accepts tasks: record, index, stream or schedule entry, idempotency key and event together, or none of it.
-- ARGV: WIDTH values per task (see ingest.py). Replies the moment of acceptance, then per task two values: 'ACCEPTED' and
-- its id, or a refusal and the id of the task that stands in the way or ''.
--#include arguments clock transition index record idempotency terminal stats event enqueue ack retention commit
expect('', 'tttdnnttwott')
local WIDTH = 12
local depths, known, due, keyed, replies = {}, {}, {}, {}, { now }

local function depth(queue)
  local n = depths[queue]
  if not n then
    n = 0
    for _, status in ipairs({ 'queued', 'pending', 'retrying' }) do
      n = n + redis.call('ZCARD', INDEX .. status .. ':q:' .. queue)
    end
    depths[queue] = n
  end
  return n
end

local function admit(queue)
  if known[queue] == nil then
    known[queue] = redis.call('SISMEMBER', QUEUES, queue) == 1
    if not known[queue] and redis.call('SCARD', QUEUES) < MAX_QUEUES then
      redis.call('SADD', QUEUES, queue)
      known[queue] = true
      for _ = 1, BELL_TOKENS do
        ring('*') -- workers of every queue do not listen to this one's bell yet
      end
    end
  end
  return known[queue]
end

-- Why a task is not accepted, and which other task is the reason.
local function refusal(queue, key, fingerprint)
  if key ~= '' then
    local holder = holder_of(key_name(queue, key))
    local status = holder and fields_of(holder.task_id, 'status')[1]
    if status then
      if holder.fingerprint ~= fingerprint then
        return 'IDEMPOTENCY_MISMATCH', holder.task_id
      end
      return TERMINAL[status] and 'DUPLICATE' or 'IDEMPOTENCY_IN_PROGRESS', holder.task_id
    end
  end
  if not admit(queue) then
    return 'TOO_MANY_QUEUES', ''
  end
  if depth(queue) >= MAX_QUEUE_DEPTH then
    return 'QUEUE_FULL', ''
  end
  return nil
end

local function append(list, first, second)
  local n = #list
  list[n + 1] = first
  list[n + 2] = second
end

-- UUID version 7: milliseconds, their fraction (no two calls begin in one microsecond), the place in this call beside the
-- variant bits, then randomness. So ids sort by birth.
local BIRTH = string.format('%06x%06x7%03x', math.floor(now / 16777216), now % 16777216, time[2] % 1000 * 4)

local function accept(sequence, random, task_type, queue, priority, max_attempts, timeout_ms, payload, metadata, when, ttl,
                      key, fingerprint)
  local id = BIRTH .. string.format('%03x', 2048 + sequence) .. random
  local fields = { 'priority', priority, 'attempt', 1, 'max_attempts', max_attempts, 'timeout_ms', timeout_ms,
    'payload', payload, 'created_at', now }
  -- `when` is +<ms from now> or an epoch in ms.
  local due_at = tonumber(when)
  if string.sub(when, 1, 1) == '+' then
    due_at = now + due_at
  end
  local to = 'queued'
  if due_at > now then
    to = 'pending'
    append(fields, 'due_at', due_at)
    append(due, due_at, id)
  else
    fields[13], fields[14], fields[15], fields[16] = 'enqueued_at', now, 'entry', enqueue(id, queue, priority, 1)
  end
  if metadata ~= '{}' then
    append(fields, 'metadata', metadata)
  end
  if ttl ~= '' then
    append(fields, 'expires_at', now + tonumber(ttl))
  end
  if key ~= '' then
    append(fields, 'idempotency_key', key)
    append(fields, 'key_fingerprint', fingerprint)
    local ttl_ms = IDEM_TTL_MS + math.max(0, due_at - now)
    hold(key_name(queue, key), id, fingerprint, ttl_ms)
    append(keyed, now + ttl_ms, id)
  end
  birth(id, to, queue, task_type, fields)
  depths[queue] = depths[queue] + 1
  return id
end

for i = 0, #ARGV / WIDTH - 1 do
  local at = i * WIDTH
  local word, id = refusal(ARGV[at + 3], ARGV[at + 11], ARGV[at + 12])
  if not word then
    word, id = 'ACCEPTED', accept(i, unpack(ARGV, at + 1, at + WIDTH))
  end
  replies[2 * i + 2], replies[2 * i + 3] = word, id
end
each_chunk(due, function(...) redis.call('ZADD', SCHEDULE, ...) end)
each_chunk(keyed, function(...) redis.call('ZADD', KEYED, ...) end)
for _, group in ipairs(groups) do
  redis.call('SADD', TYPES, group.type)
end
commit()
return replies
