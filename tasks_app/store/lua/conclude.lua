-- Ends an operation: finished or stopped by whoever goes by its present place, or aborted wherever it is.
-- ARGV: actor, address, request id, id, 'finished', 'stopped' or 'aborted', its place, how many of its trial failed again.
-- Replies {word, state}.
--#include arguments clock unhindered audit
expect('ttttttn')
local WORDS = { finished = 'end', stopped = 'stop', aborted = 'abort' }
local key, to, failed = OPERATION .. ARGV[4], ARGV[5], tonumber(ARGV[7])
local v = redis.call('HMGET', key, 'state', 'place', 'action', 'done', 'told')
if not v[1] then
  return { 'NOT_FOUND', '' }
elseif v[1] ~= 'running' or (to ~= 'aborted' and v[2] ~= ARGV[6]) then
  return { 'STALE', v[1] }
end
redis.call('HSET', key, 'state', to, 'ended_at', now, 'ended_by', ARGV[1], 'failed', failed)
redis.call('ZREM', OPERATING, ARGV[4])
redis.call('PEXPIRE', key, OPERATION_TTL_MS)
redis.call('PEXPIRE', OPERATIONS, OPERATION_TTL_MS)
audit('operation-' .. WORDS[to], 'operation:' .. ARGV[4], '', v[3] .. ': ' .. (v[4] or 0) .. ' done'
  .. (v[5] and ', ' .. v[5] .. ' told to stop' or '') .. (failed > 0 and ', ' .. failed .. ' failed again' or ''))
return { 'OK', to }
