-- Per-minute counters and duration histograms, one hash a minute, a field per queue, type and measure:
-- `<queue>|<type>|<measure>`, where a measure is submitted, a status, w<bucket> or r<bucket> (wait and run), ws or rs
-- (their sums in ms); depth and oldest are samples, the greatest of the span.
local function bucket(ms)
  for i, limit in ipairs(BUCKETS_MS) do
    if ms <= limit then
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
  local key = STATS .. 'm:' .. math.floor(now / 60000)
  for _, group in ipairs(groups) do
    local name = group.queue .. '|' .. group.type .. '|'
    if group.from == '' then
      redis.call('HINCRBY', key, name .. 'submitted', #group.ids)
    end
    if group.to ~= '' then
      redis.call('HINCRBY', key, name .. group.to, #group.ids)
    end
    for measure, series in pairs({ w = group.waits, r = group.runs }) do
      for b, n in pairs(series) do
        redis.call('HINCRBY', key, name .. measure .. (b == 'sum' and 's' or b), n)
      end
    end
  end
  redis.call('PEXPIRE', key, MINUTE_STATS_TTL_MS)
end
