-- Ids by status, by status and queue, by status and type. The running tasks' index is the lease set, with one count per
-- queue and type beside it, since every task passes through it twice. Members have score 0, so they sort by id, which
-- is by birth.
local CHUNK = 1000

local function each_chunk(list, visit)
  for first = 1, #list, CHUNK do
    visit(unpack(list, first, math.min(first + CHUNK - 1, #list)))
  end
end

local function index_keys(status, queue, task_type)
  return { INDEX .. status, INDEX .. status .. ':q:' .. queue, INDEX .. status .. ':t:' .. task_type }
end

local function count_running(group, by)
  redis.call('HINCRBY', RUNNING, 'q:' .. group.queue, by)
  redis.call('HINCRBY', RUNNING, 't:' .. group.type, by)
end

local function index(group)
  if group.from == 'running' then
    count_running(group, -#group.ids)
  elseif group.from ~= '' then
    for _, key in ipairs(index_keys(group.from, group.queue, group.type)) do
      each_chunk(group.ids, function(...) redis.call('ZREM', key, ...) end)
    end
  end
  if group.to == 'running' then
    count_running(group, #group.ids)
  elseif group.to ~= '' then
    local members = {}
    for i, id in ipairs(group.ids) do
      members[2 * i - 1] = 0
      members[2 * i] = id
    end
    for _, key in ipairs(index_keys(group.to, group.queue, group.type)) do
      each_chunk(members, function(...) redis.call('ZADD', key, ...) end)
    end
  end
end
