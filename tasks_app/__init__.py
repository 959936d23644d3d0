"""The queue: its rules, its store, its HTTP API and its console."""

__version__ = "0.1.0"
