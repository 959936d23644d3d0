"""The soak: a real installation under mixed load and random kills for as long as one likes, then the accounts.

``python -m tests.soak`` (``make soak``). Every task that was accepted is entered in a book, every run of a handler in a
ledger outside Redis; at the end both must agree with what dtq itself says, and nothing may have grown.
"""
