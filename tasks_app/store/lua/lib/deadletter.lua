-- Buries a task whose attempts are used up or whose failure is permanent, and digs it up again.
-- Dead letters with one cause share a fingerprint: type, error class and the message without its numbers.
local prints = {}

local function fingerprint(task_type, error_class, message)
  local whole = task_type .. '\n' .. error_class .. '\n' .. message
  if prints[whole] then
    return prints[whole] -- what is buried together mostly died of one cause
  end
  local cause = string.sub(string.gsub(message, '0x%x+', '#'), 1, 200)
  local text = task_type .. '\n' .. error_class .. '\n' .. string.gsub(cause, '%d+', '#')
  local one, other = 5381, 52711 -- not redis.sha1hex: fakeredis has none in scripts
  for _, byte in ipairs({ string.byte(text, 1, -1) }) do
    one = (one * 33 + byte) % 4294967296
    other = (other * 33 + byte) % 4294967296
  end
  prints[whole] = string.format('%04x%04x%04x%04x', math.floor(one / 65536), one % 65536, math.floor(other / 65536),
    other % 65536)
  return prints[whole]
end

-- Lists dead letters under the cause that they share, and counts them: for each hour of a day the cause has a field
-- '<hour> <count>', which the next day's overwrites. `members` are scores (0) and ids in turn.
local function note_cause(print, task_type, error_class, message, members)
  each_chunk(members, function(...) redis.call('ZADD', INDEX .. 'dead_lettered:f:' .. print, ...) end)
  local hour = math.floor(now / 3600000)
  local field = 'h' .. hour % 24
  local known = redis.call('HMGET', FINGERPRINT .. print, 'first_seen', field)
  local at, count = string.match(known[2] or '', '^(%d+) (%d+)$')
  count = (tonumber(at) == hour and count or 0) + #members / 2
  redis.call('HSET', FINGERPRINT .. print, 'task_type', task_type, 'error_class', error_class, 'error_message', message,
    'first_seen', known[1] or now, 'last_seen', now, field, hour .. ' ' .. count)
  redis.call('ZADD', FINGERPRINTS, now, print)
end

local function note_causes(group)
  for print, cause in pairs(group.causes) do
    note_cause(print, group.type, cause.error_class, cause.message, cause.members)
  end
end

-- Writes a dead letter; its cause has to be noted besides. Returns the entry's id.
local function letter(task, print, error_class, message)
  return redis.call('XADD', DEAD_LETTERS, 'MAXLEN', '~', DLQ_MAXLEN, '*', 'task_id', task.id, 'task_type', task.type or '',
    'queue', task.queue or '', 'attempts', task.attempt or 0, 'error_class', error_class, 'error_message', message,
    'fingerprint', print, 'worker_id', task.worker_id or '', 'failed_at', now)
end

local function bury(task, error_class, message, traceback)
  if not DLQ_ENABLED then
    return ended(task, 'failed', 'error_class', error_class, 'error_message', message, 'traceback', traceback)
  end
  local print = fingerprint(task.type, error_class, message)
  local entry = letter(task, print, error_class, message)
  local group = ended(task, 'dead_lettered', 'error_class', error_class, 'error_message', message, 'traceback',
    traceback, 'fingerprint', print, 'dlq_entry', entry)
  if not group.graves then
    group.graves, group.causes, group.conclude = {}, {}, note_causes
  end
  group.graves[task.id] = entry .. '@' .. print
  local cause = group.causes[print] or { members = {} }
  group.causes[print], cause.error_class, cause.message = cause, error_class, message
  local n = #cause.members
  cause.members[n + 1], cause.members[n + 2] = 0, task.id
  return group
end

local function dig_up(id, entry, print)
  if entry then
    redis.call('XDEL', DEAD_LETTERS, entry)
  end
  if print then
    redis.call('ZREM', INDEX .. 'dead_lettered:f:' .. print, id)
    if redis.call('EXISTS', INDEX .. 'dead_lettered:f:' .. print) == 0 then
      redis.call('DEL', FINGERPRINT .. print)
      redis.call('ZREM', FINGERPRINTS, print)
    end
  end
end
