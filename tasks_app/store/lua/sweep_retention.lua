-- Removes the index members of records that retention has taken. ARGV: token, limit of members. Replies how many ids.
--#include arguments lock leading clock unhindered index enqueue attempts deadletter
expect('tn')
local swept = 0

local function still_there(id, status)
  return redis.pcall('HGET', TASK .. id, 'status') == status
end

for _, member in ipairs(redis.call('ZRANGEBYSCORE', RETENTION, '-inf', now - 1, 'LIMIT', 0, ARGV[2])) do
  local status, queue, task_type, list = string.match(member, '^(%S+) (%S+) (%S+) (.*)$')
  local gone = {}
  for token in string.gmatch(list or '', '%S+') do
    local id, entry, print = string.match(token, '^([^@]+)@?([^@]*)@?(.*)$')
    if not still_there(id, status) then
      -- Requeued tasks have left this index by themselves; removing them from it again does no harm.
      gone[#gone + 1] = id
      if entry ~= '' then
        dig_up(id, entry, print ~= '' and print or nil)
      end
    end
  end
  if status then
    for _, key in ipairs(index_keys(status, queue, task_type)) do
      each_chunk(gone, function(...) redis.call('ZREM', key, ...) end)
    end
  end
  redis.call('ZREM', RETENTION, member)
  swept = swept + #gone
end
return swept
