-- Buries a task whose attempts are used up or whose failure is permanent, and digs it up again.
-- Dead letters with one cause share a fingerprint: type, error class and the message without its numbers.
local function fingerprint(task_type, error_class, message)
  local cause = string.sub(string.gsub(message, '0x%x+', '#'), 1, 200)
  local text = task_type .. '\n' .. error_class .. '\n' .. string.gsub(cause, '%d+', '#')
  local one, other = 5381, 52711 -- not redis.sha1hex: fakeredis has none in scripts
  for _, byte in ipairs({ string.byte(text, 1, -1) }) do
    one = (one * 33 + byte) % 4294967296
    other = (other * 33 + byte) % 4294967296
  end
  return string.format('%04x%04x%04x%04x', math.floor(one / 65536), one % 65536, math.floor(other / 65536), other % 65536)
end

-- Writes a dead letter and its place among those with the same cause. Returns the entry's id.
local function letter(task, print, error_class, message)
  redis.call('ZADD', INDEX .. 'dead_lettered:f:' .. print, 0, task.id)
  redis.call('HSET', FINGERPRINT .. print, 'task_type', task.type or '', 'error_class', error_class, 'error_message',
    message, 'last_seen', now)
  redis.call('HSETNX', FINGERPRINT .. print, 'first_seen', now)
  redis.call('ZADD', FINGERPRINTS, now, print)
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
  group.graves = group.graves or {}
  group.graves[task.id] = entry .. '@' .. print
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
