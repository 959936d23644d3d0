-- Per-minute counters and duration histograms, one hash a minute, a field per queue, type and measure:
-- `<queue>|<type>|<measure>`, where a measure is submitted, a status (pending and queued are not counted), w<bucket> or
-- r<bucket> (wait and run), ws or rs (their sums in ms), absorbed (entries that started nothing), lost (leases that ran
-- out), dropped (outcomes that came after that); depth and oldest are samples, the greatest of the span.
local tallies = {}

-- Counts once what moves no task. A task nobody knows any more counts for OTHER_TYPES.
local function tally(queue, task_type, measure)
  local name = (queue or '') .. '|' .. (task_type or OTHER_TYPES) .. '|' .. measure
  tallies[name] = (tallies[name] or 0) + 1
end

local function bucket(ms)
  for i = 1, #BUCKETS_MS do
    if ms <= BUCKETS_MS[i] then
      return i - 1
    end
  end
  return #BUCKETS_MS
end

local function observe(series, ms)
  if ms < 0 then
    ms = 0
  end
  local b = bucket(ms)
  series[b] = (series[b] or 0) + 1
  series.sum = (series.sum or 0) + ms
end

local function stats()
  local key, began = STATS .. 'm:' .. math.floor(now / 60000), false
  local function add(name, n)
    began = redis.call('HINCRBY', key, name, n) == n or began
  end
  for _, group in ipairs(groups) do
    local name = group.queue .. '|' .. group.type .. '|'
    if group.from == '' then
      add(name .. 'submitted', #group.ids)
    end
    if TERMINAL[group.to] or group.to == 'running' or group.to == 'retrying' then
      add(name .. group.to, #group.ids)
    end
    for measure, series in pairs({ w = group.waits, r = group.runs }) do
      for b, n in pairs(series) do
        add(name .. measure .. (b == 'sum' and 's' or b), n)
      end
    end
  end
  for name, n in pairs(tallies) do
    add(name, n)
  end
  if began then
    redis.call('PEXPIRE', key, MINUTE_STATS_TTL_MS) -- a field began, so the minute may have as well
  end
end
