-- The only place that writes `status`. ALLOWED and TERMINAL are rendered from the domain's table.
-- What was moved is collected in groups of equal (from, to, queue, type); commit() then writes indexes, counters and
-- the event once per group instead of once per task.
local groups, group_by_name, latest = {}, {}, nil

local function moved(from, to, queue, task_type, id)
  local group = latest
  if not (group and group.to == to and group.from == from and group.queue == queue and group.type == task_type) then
    local name = from .. '>' .. to .. '>' .. queue .. '>' .. task_type
    group = group_by_name[name]
    if not group then
      group = { from = from, to = to, queue = queue, type = task_type, ids = {}, waits = {}, runs = {} }
      group_by_name[name] = group
      groups[#groups + 1] = group
    end
    latest = group
  end
  group.ids[#group.ids + 1] = id
  return group
end

local function allowed(from, to)
  local targets = ALLOWED[from]
  return targets and targets[to]
end

-- Writes a new record. `fields` is a flat list of names and values.
local function birth(id, to, queue, task_type, fields)
  redis.call('HSET', TASK .. id, 'status', to, 'queue', queue, 'task_type', task_type, unpack(fields))
  return moved('', to, queue, task_type, id)
end

-- Moves a task that read() returned, with further fields to write. The caller has made sure the move is allowed; the
-- check here stops a bug before its first write.
local function transition(task, to, ...)
  if not allowed(task.status, to) then
    error('INVALID_TRANSITION ' .. task.status .. ' ' .. to)
  end
  redis.call('HSET', TASK .. task.id, 'status', to, ...)
  local group = moved(task.status, to, task.queue, task.type, task.id)
  task.status = to
  return group
end

-- The one move outside the table: an operator brings a task back that had ended by its own failures.
local function revive(task, ...)
  redis.call('HSET', TASK .. task.id, 'status', 'queued', ...)
  moved(task.status, 'queued', task.queue, task.type, task.id)
  task.status = 'queued'
end
