-- Sends scheduled tasks to their streams before they are due.
-- ARGV: actor, address, request id, ids... Replies per id {word, status}.
--#include arguments clock transition index record idempotency terminal stats event enqueue ack retention scheduled audit commit
expect('ttt', 't')
local replies = {}

local function run_now(id)
  local task = read(id)
  if not task.readable then
    return { is_recorded(id) and 'UNREADABLE_RECORD' or 'NOT_FOUND', '' }
  elseif task.status ~= 'pending' and task.status ~= 'retrying' then
    return { 'WRONG_STATUS', task.status }
  end
  unschedule(id)
  redis.call('HSET', TASK .. id, 'due_at', now) -- the old moment would say that it is still to come
  send(task)
  audit('run-now', 'task', id, '')
  return { 'OK', task.status }
end

for i = 4, #ARGV do
  replies[#replies + 1] = run_now(ARGV[i])
end
commit()
return replies
