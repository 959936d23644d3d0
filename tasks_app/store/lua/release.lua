-- Moves claimed tasks into their streams. ARGV: token, ids... Replies how many moved; a claim that another step settled
-- in the meantime is skipped.
--#include arguments lock leading clock unhindered transition index record idempotency terminal stats event enqueue ack retention deadletter scheduled damaged commit
expect('t', 't')
local claims, moved_now = {}, 0
for i = 2, #ARGV do
  local id = ARGV[i]
  if redis.call('ZSCORE', CLAIMED, id) then
    local task = read(id)
    if task.readable and (task.status == 'pending' or task.status == 'retrying') then
      send(task)
      moved_now = moved_now + 1
    elseif not task.readable and is_recorded(id) then
      put_aside(task)
    end
    claims[#claims + 1] = id
  end
end
each_chunk(claims, function(...) redis.call('ZREM', CLAIMED, ...) end)
commit()
return moved_now
