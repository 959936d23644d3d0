"""A made-up shop: its handlers and its traffic, for a look around. Loaded with the demo handlers only."""
