-- A server at its memory limit refuses a script's first write of a kind that may grow memory. Scripts that let work
-- drain must not be refused, so their first write is one of the other kind; the server then lets the rest pass.
redis.call('DEL', NOTHING)
