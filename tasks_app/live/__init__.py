"""Live updates: one subscriber per web process, an event stream per listener (docs/decisions/0005-live-pages.md)."""
