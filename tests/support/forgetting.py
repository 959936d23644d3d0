"""Makes this process read its settings and build what it uses anew."""

from __future__ import annotations

from tasks_app import conf, runtime


def forget() -> None:
    """Drop the settings and everything made from them, handlers aside."""
    if runtime.refusals.cache_info().currsize:
        runtime.refusals().close()
    for cached in (
        conf.config,
        runtime.client,
        runtime.commands,
        runtime.queries,
        runtime.operations,
        runtime.wishes,
        runtime.audit,
        runtime.observer,
        runtime.refusals,
        runtime.api_keys,
    ):
        cached.cache_clear()
