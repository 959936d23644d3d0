"""The operations console: server-rendered pages, kept live by fragments (docs/console-design.md)."""
