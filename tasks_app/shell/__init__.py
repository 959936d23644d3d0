"""The shell client: ``manage.py tasks``."""
