-- Puts tasks into their streams, marks the lanes as ready and rings the doorbells (once per call).
-- The ready set spares workers a look into ten streams per queue.
local BELL_TOKENS = 4
local lanes, bells = {}, {}

local function enqueue(id, queue, priority, attempt)
  local lane = queue .. ':p' .. priority
  if not lanes[lane] then
    lanes[lane] = true
    bells[queue] = true
  end
  return redis.call('XADD', STREAM .. lane, '*', 'task_id', id, 'attempt', attempt)
end

local function ring(queue)
  if redis.call('LLEN', WAKE .. queue) < BELL_TOKENS then
    redis.call('LPUSH', WAKE .. queue, 1)
  end
end

local function ring_all()
  for lane in pairs(lanes) do
    redis.call('SADD', READY, lane)
  end
  for queue in pairs(bells) do
    ring(queue)
  end
end
