"""Template tags of the console. What is drawn once per row is a tag, not an include: lists must stay fast."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from django import template
from django.http import QueryDict
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from tasks_app.conf import config, redaction
from tasks_app.console.access import is_open
from tasks_app.console.fragments import FRAGMENT_PARAM, SHOWN_PARAM
from tasks_app.console.presenters import numbers, times
from tasks_app.console.presenters.statuses import Look
from tasks_app.console.presenters.tasks import task_url

BAR_TALLEST = 16

register = template.Library()
register.filter("count", numbers.count)
register.filter("exact", numbers.exact)
register.filter("duration", numbers.duration)
register.filter("size", numbers.size)
register.filter("rate", numbers.rate)
register.filter("moment", times.exact)
register.filter("task_url", task_url)


@register.filter
def redacted(text: str | None) -> str:
    """What a task has said, secrets masked."""
    return redaction().text(text or "")


@register.simple_tag
def icon(name: str) -> SafeString:
    """A symbol of the icon file; the word beside it is what a screen reader gets."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', _icons(), name)


@register.simple_tag
def badge(look: Look) -> SafeString:
    """A status: icon and word, its meaning in the tooltip."""
    return format_html(
        '<span class="badge tone-{}" title="{}"><svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>'
        "{}</span>",
        look.tone,
        look.meaning,
        _icons(),
        look.icon,
        look.word,
    )


@register.simple_tag(takes_context=True)
def when(context: Context, ms: int | None, kind: str = "ago") -> SafeString | str:
    """A moment that ticks in the browser; the exact time is one hover away."""
    if ms is None or times.moment(ms) is None:
        return numbers.UNKNOWN
    return format_html(
        '<time datetime="{}" title="{}" data-ms="{}" data-rel="{}">{}</time>',
        times.iso(ms),
        times.exact(ms),
        ms,
        kind,
        times.relative(ms, kind, context["now"]),
    )


@register.simple_tag
def at(ms: int | None) -> SafeString | str:
    """A clock time that stands still; the exact time is one hover away."""
    if ms is None or times.moment(ms) is None:
        return numbers.UNKNOWN
    return format_html(
        '<time datetime="{}" title="{}" data-ms="{}">{}</time>', times.iso(ms), times.exact(ms), ms, times.clock(ms)
    )


@register.simple_tag
def number(value: int | None) -> SafeString | str:
    """A count, short when large, with the exact figure in the tooltip."""
    if value is None or abs(value) < numbers.EXACT_BELOW:
        return numbers.count(value)
    return format_html('<span title="{}">{}</span>', numbers.exact(value), numbers.count(value))


@register.simple_tag
def hours(hourly: Sequence[int]) -> SafeString:
    """A day as bars, an hour each, the current one last; in words for those who do not see them."""
    most = max(hourly, default=0) or 1
    heights = [math.ceil(BAR_TALLEST * value / most) for value in hourly]
    bars = "".join(f"M{3 * i} {BAR_TALLEST}v-{tall}h2v{tall}" for i, tall in enumerate(heights) if tall)
    words = f"{numbers.exact(sum(hourly))} in the last 24 h, {numbers.exact(hourly[-1])} of them in the current hour"
    return format_html(
        '<svg class="hours" viewBox="0 0 71 {}" role="img" aria-label="{}"><title>{}</title><path d="{}"/></svg>',
        BAR_TALLEST,
        words,
        words,
        bars,
    )


@register.simple_tag
def site() -> dict[str, Any]:
    """The environment's name and whether this is open local mode, for pages outside the frame: some have no request."""
    return {"env_name": config().env_name, "open_mode": is_open()}


@register.simple_tag(takes_context=True)
def fragment(context: Context, name: str) -> SafeString:
    """A live part of the page (docs/console-design.md)."""
    rendered: SafeString = context["page"].fragment(name, context["reading"])
    return rendered


@register.simple_tag(takes_context=True)
def here(context: Context, **changes: Any) -> str:
    """This page's address with some parameters changed; ``None`` and the empty text remove one."""
    params: QueryDict = context["request"].GET.copy()
    for name in (FRAGMENT_PARAM, SHOWN_PARAM):
        params.pop(name, None)
    for name, value in changes.items():
        if value in (None, ""):
            params.pop(name, None)
        else:
            params[name] = str(value)
    query = params.urlencode()
    path: str = context["request"].path
    return f"{path}?{query}" if query else path


@functools.cache
def _icons() -> str:
    # The manifest's lookup is cheap, but not two hundred times a page.
    return static("icons.svg")
