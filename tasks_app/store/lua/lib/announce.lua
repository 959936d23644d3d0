-- Tells of something that happened to a queue as a whole. Written by hand where cjson would make an object of no ids.
local function announce(status, queue)
  local text = cjson.encode({ status = status, queue = queue, type = '', count = 0 })
  redis.call('PUBLISH', EVENTS, '{"ts":' .. now .. ',"events":[' .. string.sub(text, 1, -2) .. ',"ids":[]}]}')
end
