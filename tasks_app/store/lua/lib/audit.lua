-- Who did what to what. ARGV[1..3] of every operator's script are the actor, its address and the request id.
local function audit(action, target, task_id, detail)
  redis.call('XADD', AUDIT, 'MAXLEN', '~', AUDIT_MAXLEN, '*', 'actor', ARGV[1], 'action', action, 'target', target,
    'task_id', task_id, 'ts', now, 'source', ARGV[2], 'request_id', ARGV[3], 'detail', detail)
end
