-- Removes the records of dead-lettered, failed or damaged tasks and everything that belongs to them.
-- ARGV: actor, address, request id, four of the step (lib/step.lua), audit target or '' for one entry a task, ids...
-- Replies per id {word, status}.
--#include arguments clock transition index record idempotency terminal stats event enqueue ack retention attempts deadletter scheduled damaged audit commit
expect('ttttttnt', 't')
local target = ARGV[8]
local replies, done = {}, 0

--#include step

local function forget(id)
  redis.call('DEL', TASK .. id, ATTEMPTS .. id, LOG .. id)
end

local function discard(id)
  local task = read(id, 'dlq_entry', 'fingerprint')
  if not task.readable then
    if not is_recorded(id) and not redis.call('ZSCORE', INDEX .. 'dead_lettered', id) then
      return { 'NOT_FOUND', '' }
    end
    leave_everywhere(task)
    dig_up(id, task.more[FIRST_EXTRA], task.more[FIRST_EXTRA + 1] or DAMAGED)
  elseif not REQUEUEABLE[task.status] then
    return { 'WRONG_STATUS', task.status }
  else
    dig_up(id, task.more[FIRST_EXTRA], task.more[FIRST_EXTRA + 1])
    if task.key then
      local name = key_name(task.queue, task.key)
      local holder = holder_of(name)
      if holder and holder.task_id == id then
        redis.call('DEL', name)
      end
    end
    moved(task.status, '', task.queue, task.type, id)
  end
  forget(id)
  return { 'OK', '' }
end

for i = 9, #ARGV do
  local reply = discard(ARGV[i])
  replies[#replies + 1] = reply
  if reply[1] == 'OK' then
    done = done + 1
    if target == '' and not operation then
      audit('discard', 'task', ARGV[i], '')
    end
  end
end
if operation then
  count_step(replies)
elseif target ~= '' then
  audit('purge', target, '', tostring(done))
end
commit()
return replies
