-- A step of an operation: what the call did is counted in the call, and only by whoever goes by its present place.
-- ARGV[4..7]: the operation's id or '' for none, its place, the place after this step, how many ids were looked at.
local operation = ARGV[4] ~= '' and OPERATION .. ARGV[4]
local trials
if operation then
  local v = redis.call('HMGET', operation, 'state', 'place', 'trials')
  if v[1] ~= 'running' or v[2] ~= ARGV[5] then
    return 'STALE'
  end
  trials = tonumber(v[3] or nil)
end

-- `replies` are {word, status or other detail}; why a task was left alone is a word or the status that it was found in.
local function count_step(replies)
  local counts = { looked = ARGV[7] }
  for _, reply in ipairs(replies) do
    local name = reply[1] == 'OK' and 'done' or reply[1] == 'CANCEL_REQUESTED' and 'told'
      or 'skipped:' .. (STATUSES[reply[2]] and reply[2] or reply[1])
    counts[name] = (counts[name] or 0) + 1
  end
  for name, count in pairs(counts) do
    redis.call('HINCRBY', operation, name, count)
  end
  redis.call('HSET', operation, 'place', ARGV[6])
  for _, key in ipairs({ operation, OPERATIONS, OPERATING }) do
    redis.call('PEXPIRE', key, OPERATION_TTL_MS)
  end
end

-- `ids` were changed by a careful operation: while it makes trials, they are the ones to wait for.
local function note_trial(ids)
  if trials < MAX_TRIALS and ids[1] then
    redis.call('HSET', operation, 'trials', trials + 1, 'trying', table.concat(ids, ' '))
  else
    redis.call('HDEL', operation, 'trying')
  end
end
