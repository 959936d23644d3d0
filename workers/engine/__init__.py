"""The worker's engine: claims, runs, commits, renews. No Django in here; the commands inject what needs it."""
