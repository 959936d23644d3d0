-- Acknowledges and deletes stream entries, once per stream and call.
local acks = {}

local function ack(lane, entry)
  local entries = acks[lane]
  if not entries then
    entries = {}
    acks[lane] = entries
  end
  entries[#entries + 1] = entry
end

local function ack_all()
  for lane, entries in pairs(acks) do
    each_chunk(entries, function(...)
      redis.call('XACK', STREAM .. lane, GROUP, ...)
      redis.call('XDEL', STREAM .. lane, ...)
    end)
  end
end
