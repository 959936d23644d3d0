-- Milliseconds since the epoch by the server's clock: the only clock that decides anything.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
