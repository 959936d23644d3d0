-- The leader's lock holds `<token> <owner>`. ARGV[1] of every scheduler script is the caller's token.
local function leads()
  return string.match(redis.call('GET', LOCK) or '', '^%S+') == ARGV[1]
end
