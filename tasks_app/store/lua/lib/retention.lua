-- Terminal records expire by themselves; this remembers which index members go with them. One member per group and
-- call, scored by the moment the records are gone: `<status> <queue> <type> <id>[@<dlq entry>@<fingerprint>] ...`.
local MEMBER_IDS = 100 -- what a sweep does for a dead letter costs six commands

local function remember(group)
  local ids = group.ids
  if group.graves then
    ids = {}
    for i, id in ipairs(group.ids) do
      ids[i] = id .. '@' .. (group.graves[id] or '@')
    end
  end
  for first = 1, #ids, MEMBER_IDS do
    local last = math.min(first + MEMBER_IDS - 1, #ids)
    redis.call('ZADD', RETENTION, now + RETENTION_MS,
      group.to .. ' ' .. group.queue .. ' ' .. group.type .. ' ' .. table.concat(ids, ' ', first, last))
  end
end
