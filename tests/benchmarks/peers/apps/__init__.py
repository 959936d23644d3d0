"""One module per entrant, imported by its producers and by its workers. The server's address is in ``BENCH_URL``."""
