-- Cancels tasks: waiting ones end at once, running ones are flagged and their worker is told.
-- ARGV: actor, address, request id, four of the step (lib/step.lua), action for the audit, what to touch ('all' or
-- 'waiting'), audit target or '' for one entry a task, ids... Replies per id {word, status}.
--#include arguments clock unhindered transition index record idempotency terminal stats event enqueue ack retention scheduled audit commit
expect('ttttttnttt', 't')
local action, scope, target = ARGV[8], ARGV[9], ARGV[10]
local replies, in_flight, done = {}, {}, 0

--#include step

local function cancel(id)
  local task = read(id)
  if not task.readable then
    return { is_recorded(id) and 'UNREADABLE_RECORD' or 'NOT_FOUND', '' }
  elseif TERMINAL[task.status] then
    return { 'TASK_FINISHED', task.status }
  elseif task.status == 'running' then
    if scope == 'waiting' then
      return { 'WRONG_STATUS', task.status }
    end
    redis.call('HSET', TASK .. id, 'cancel_requested', 1)
    redis.call('PUBLISH', CONTROL .. (task.worker_id or ''), cjson.encode({ cancel = id }))
    return { 'CANCEL_REQUESTED', task.status }
  end
  if task.status == 'queued' then
    redis.call('XDEL', STREAM .. task.queue .. ':p' .. task.priority, task.entry or '0-0')
  else
    unschedule(id)
  end
  in_flight[#in_flight + 1] = id
  ended(task, 'cancelled')
  return { 'OK', task.status }
end

for i = 11, #ARGV do
  local reply = cancel(ARGV[i])
  replies[#replies + 1] = reply
  if target == '' and not operation then
    audit(action, 'task', ARGV[i], reply[1])
  elseif reply[1] == 'OK' then
    done = done + 1
  end
end
if #in_flight > 0 then
  each_chunk(in_flight, function(...) redis.call('SADD', CANCELLED, ...) end)
  redis.call('PEXPIRE', CANCELLED, RETENTION_MS)
end
if operation then
  count_step(replies)
elseif target ~= '' then
  audit(action, target, '', tostring(done))
end
commit()
return replies
