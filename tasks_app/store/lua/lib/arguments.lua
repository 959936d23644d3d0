-- Stops a call with arguments that nobody of ours sends before its first write: nothing rolls a script back.
-- One letter an argument: t any text, n a whole number, o one or nothing, d a digit, w a moment (+<ms> from now or an epoch).
local WANTED = { n = '^%d+$', o = '^%d*$', d = '^%d$', w = '^%+?%d+$' }
local LONGEST_NUMBER = 16

-- `head` describes the first arguments; `row`, if any, what follows them once or several times.
local function expect(head, row)
  local rest = #ARGV - #head
  if rest < 0 or (row and rest % #row or rest) ~= 0 then
    error('BAD_ARGUMENTS: ' .. #ARGV .. ' of them')
  end
  local function check(kinds, first, width)
    for place = 1, #kinds do
      local wanted, passed = WANTED[string.sub(kinds, place, place)], nil
      for i = first + place, wanted and #ARGV or 0, width do
        local text = ARGV[i]
        if text ~= passed then -- most rows of a call are alike
          if #text > LONGEST_NUMBER or not string.find(text, wanted) then
            error('BAD_ARGUMENTS: no number in place ' .. i)
          end
          passed = text
        end
      end
    end
  end
  check(head, 0, #ARGV + 1)
  check(row or '', #head, row and #row)
end
