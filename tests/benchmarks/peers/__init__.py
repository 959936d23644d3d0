"""dtq beside other task queues on one server kind, in one run. ``python -m tests.benchmarks.peers`` prints JSON lines.

Each entrant runs its own released code in a virtual environment of its own, with the settings its documentation
recommends for many small tasks; the catalogue says which. All do the same: a handler that takes no arguments, returns
nothing, and adds one to a counter in shared memory, which is how the harness learns of every run in the same way.

What is timed:

- single: 5,000 submit calls from one producer, each answered before the next.
- bulk: 20,000 tasks through the entrant's own bulk call, 500 at a time, where it has one.
- drain: worker processes are warmed up and stopped with SIGSTOP, 20,000 tasks are submitted, the processes are let go
  with SIGCONT; timed from there until the last handler has run.
- latency: one task at a time to an idle worker, from before the submit call to the handler's first line, with pauses of
  random length between, so that no poller is hit in step.

Each measurement has a fresh server without persistence, reached over loopback TCP by everybody.
"""
