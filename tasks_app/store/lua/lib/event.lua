-- One message per script call: what moved, in groups. Ids are capped; `count` is exact.
local EVENT_IDS = 100

local function event()
  local events = {}
  for i, group in ipairs(groups) do
    local ids = group.ids
    if #ids > EVENT_IDS then
      ids = { unpack(ids, 1, EVENT_IDS) }
    end
    events[i] = {
      status = group.to ~= '' and group.to or 'discarded',
      queue = group.queue,
      type = group.type,
      count = #group.ids,
      ids = ids,
    }
  end
  redis.call('PUBLISH', EVENTS, cjson.encode({ ts = now, events = events }))
end
