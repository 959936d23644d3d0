"""Benchmarks: real processes on a private server without persistence. ``make bench`` prints JSON lines.

Each scenario is a function that returns figures; a run repeats it and reports the median with the spread. What is
timed, from where to where, is said in each scenario. Nothing here asserts: a slow machine is not a failed test.
"""
