"""The one clock of a simulation: what the hosts' monotonic clocks and the server's ``TIME`` say."""

from __future__ import annotations

import math

EPOCH_US = 4_102_444_800_000_000
"""The server's time at the start: 2100, which its own clock does not reach, so it expires nothing by itself."""
HOSTS_START_S = 1000.0

EXPIRIES = "sim:expiries"
"""A sorted set beside the product's keys: which key is to expire when."""
PUBLISHED = "sim:published"
"""A list beside them: channels and messages that nobody has been given yet."""

SHADOW = f"""
local server, clock_us = redis, tonumber(KEYS[2])
local clock_ms = math.floor(clock_us / 1000)

for _, key in ipairs(server.call('ZRANGEBYSCORE', '{EXPIRIES}', '-inf', clock_ms)) do
  local at = server.call('PEXPIRETIME', key)
  if at >= 0 and at <= clock_ms then
    server.call('DEL', key)
  end
  server.call('ZREM', '{EXPIRIES}', key)
end

local function in_time(perform, name, ...)
  local a = {{ ... }}
  if name == 'TIME' then
    return {{ string.format('%.0f', math.floor(clock_us / 1000000)), string.format('%.0f', clock_us % 1000000) }}
  elseif name == 'XADD' then
    for i = 2, #a do
      if a[i] == '*' then
        a[i] = string.format('%.0f-*', clock_ms)
        break
      end
    end
  elseif name == 'PEXPIRE' then
    name, a[2] = 'PEXPIREAT', clock_ms + tonumber(a[2])
  elseif name == 'SET' then
    for i = 3, #a do
      if a[i] == 'PX' then
        a[i], a[i + 1] = 'PXAT', clock_ms + tonumber(a[i + 1])
      end
    end
  end
  local reply = perform(name, unpack(a))
  if name == 'PEXPIREAT' or name == 'SET' then
    server.call('ZADD', '{EXPIRIES}', server.call('PEXPIRETIME', a[1]), a[1])
  elseif name == 'PUBLISH' then
    server.call('RPUSH', '{PUBLISHED}', a[1], a[2])
  end
  return reply
end

local redis = {{
  call = function(...) return in_time(server.call, ...) end,
  pcall = function(...) return in_time(server.pcall, ...) end,
}}
"""
"""Stands before a script and in the way of everything in it that has to do with time. KEYS[2] is the time in us.

What is published is kept as well, so that the simulator can hand it on."""


class Clock:
    """Moved by the simulator only. ``now`` is in seconds, as ``time.monotonic`` and the loops tell them."""

    def __init__(self) -> None:
        self.set_to(0)

    def set_to(self, us: int) -> None:
        """Be ``us`` microseconds after the start."""
        self.us = us
        self.now = HOSTS_START_S + us / 1_000_000

    def monotonic(self) -> float:
        """``now``, for whoever takes a function."""
        return self.now

    @property
    def server_us(self) -> int:
        """Microseconds since the epoch, as the server tells them."""
        return EPOCH_US + self.us

    @property
    def server_ms(self) -> int:
        """Milliseconds since the epoch, as scripts reckon."""
        return self.server_us // 1000

    def go_on(self, us: int) -> None:
        """Let ``us`` microseconds pass."""
        self.set_to(self.us + us)

    def reach(self, moment_s: float) -> None:
        """Go forward to a moment of ``now``; never back."""
        # Up to the next whole microsecond, so that a timer of that moment is due and not a fraction short of it.
        self.set_to(max(self.us, math.ceil((moment_s - HOSTS_START_S) * 1_000_000)))
