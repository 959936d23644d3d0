-- Writes what the call moved: streams' acknowledgements, ready lanes, indexes, retention, counters, the event.
local function commit()
  ack_all()
  ring_all()
  if #groups == 0 then
    if next(tallies) then
      stats()
    end
    return
  end
  for _, group in ipairs(groups) do
    index(group)
    if group.conclude then
      group.conclude(group) -- a part that few verbs include has more to write
    end
    if TERMINAL[group.to] then
      remember(group)
    end
  end
  stats()
  event()
end
