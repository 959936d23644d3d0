-- Progress and log lines of running attempts; those of a lost attempt are dropped.
-- ARGV: worker, then per note: id, attempt, progress, text ('' leaves either), number of lines, lines...
--#include clock record
local worker = ARGV[1]
-- A number of lines that is none, or wrong, would stop it half-way or keep it going.
local at = 2
while at <= #ARGV do
  local lines = string.match(ARGV[at + 4] or '', '^%d%d?%d?%d?$')
  if not lines or at + 4 + lines > #ARGV then
    error('BAD_ARGUMENTS: no number of lines in place ' .. at + 4)
  end
  at = at + 5 + lines
end

at = 2
while at <= #ARGV do
  local id, attempt, progress, text, lines = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local v = fields_of(id, 'status', 'attempt', 'worker_id', 'queue', 'task_type')
  if v[1] == 'running' and v[2] == attempt and v[3] == worker then
    if progress ~= '' then
      redis.call('HSET', TASK .. id, 'progress', progress, 'progress_note', text)
    end
    if lines > 0 then
      for i = at + 5, at + 4 + lines do
        redis.call('RPUSH', LOG .. id, now .. ' ' .. attempt .. ' ' .. ARGV[i])
      end
      redis.call('LTRIM', LOG .. id, -LOG_LINES, -1)
      redis.call('HSET', TASK .. id, 'side', 1)
    end
    redis.call('PUBLISH', EVENTS, cjson.encode({ ts = now, events = { { status = 'progress', queue = v[4], type = v[5],
      count = 1, ids = { id } } } }))
  end
  at = at + 5 + lines
end
return 'OK'
