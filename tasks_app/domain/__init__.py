"""The rules of the queue, without Redis and without Django: standard library only."""
