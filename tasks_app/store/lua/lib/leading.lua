-- Scheduler scripts act for the leader only; a former leader is told and changes nothing.
if not leads() then
  return 'NOT_LEADER'
end
