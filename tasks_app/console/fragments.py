"""A page is a template and the fragments in it. Page, poll and event refresh run the same templates and builders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from tasks_app.conf import config
from tasks_app.console.access import rights_of
from tasks_app.console.doors import read_with
from tasks_app.console.frame import frame_context
from tasks_app.console.presenters.times import now_ms
from tasks_app.console.replies import readable_errors
from tasks_app.domain.roles import Right
from tasks_app.runtime import queries
from tasks_app.store.queries import Queries

FRAGMENT_PARAM = "fragment"
HOLD = mark_safe(" data-hold")
SHOWN_PARAM = "shown"
"""Ids on the screen, comma-separated: a list's refresh re-reads those rows instead of the list's present start."""


class Reading:
    """One request's view of the queue. Subclasses memoise what several fragments need, so each is read once."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.params: QueryDict = request.GET
        self.queries: Queries = queries()
        self.config = config()
        self.now = now_ms()

    @cached_property
    def rights(self) -> frozenset[Right]:
        """What the user may do."""
        return rights_of(self.request)

    @property
    def may_operate(self) -> bool:
        """True when the user may act on tasks and queues."""
        return Right.OPERATE in self.rights

    @cached_property
    def shown(self) -> list[str] | None:
        """The rows on the screen when a list is refreshed, at most 200; ``None`` on a full page."""
        text = self.params.get(SHOWN_PARAM)
        return None if text is None else [part for part in text.split(",") if part][:200]


R = TypeVar("R", bound=Reading)


@dataclass(frozen=True, slots=True)
class Fragment(Generic[R]):
    """A part of a page that can change.

    ``topics`` names what it depends on (``tasks``, ``task:<id>``, ``queue:<name>``, ``workers``, ``audit``); none
    means that it can no longer change. ``rows`` marks a list that waits while the operator is in it.
    """

    name: str
    template: str
    build: Callable[[R], Mapping[str, Any]]
    topics: Iterable[str] | Callable[[R], Iterable[str]] = ()
    rows: bool = False

    def render(self, reading: R) -> SafeString:
        """The fragment in its element. Only the outermost element carries the id that updates aim at."""
        context = {**self.build(reading), "reading": reading, "now": reading.now, "may_operate": reading.may_operate}
        topics = self.topics(reading) if callable(self.topics) else self.topics
        return format_html(
            '<div id="f-{}" data-fragment="{}" data-topics="{}"{}>{}</div>',
            self.name,
            self.name,
            " ".join(topics),
            HOLD if self.rows else "",
            # The request goes along so that forms inside have their CSRF token.
            render_to_string(self.template, context, reading.request),
        )


class LivePage(Generic[R]):
    """A view: the whole page, or with ``?fragment=`` only the parts named."""

    def __init__(
        self,
        template: str,
        *,
        reading: Callable[..., R],
        fragments: Iterable[Fragment[R]],
        base: Callable[[R], Mapping[str, Any]] = lambda reading: {},
        right: Right = Right.VIEW,
    ) -> None:
        self._template = template
        self._reading = reading
        self._fragments = {fragment.name: fragment for fragment in fragments}
        self._base = base
        self._right = right

    def as_view(self) -> Callable[..., Any]:
        """The view with its login and its readable errors."""
        return read_with(self._right)(readable_errors(self._answer))

    def fragment(self, name: str, reading: R) -> SafeString:
        """One fragment, rendered.

        Raises:
            KeyError: the page has no such fragment.
        """
        return self._fragments[name].render(reading)

    def _answer(self, request: HttpRequest, **path: str) -> HttpResponse:
        reading = self._reading(request, **path)
        names = request.GET.getlist(FRAGMENT_PARAM)
        return self._partials(names, reading) if names else self._whole(request, reading)

    def _partials(self, names: list[str], reading: R) -> HttpResponse:
        known = [name for name in self._fragments if name in names]
        return HttpResponse(
            format_html_join(
                "",
                '<hx-partial hx-target="#f-{}" hx-swap="outerMorph">{}</hx-partial>',
                ((name, self.fragment(name, reading)) for name in known),
            )
        )

    def _whole(self, request: HttpRequest, reading: R) -> HttpResponse:
        context = {
            **frame_context(request),
            **self._base(reading),
            "page": self,
            "reading": reading,
            "now": reading.now,
            "may_operate": reading.may_operate,
        }
        return HttpResponse(render_to_string(self._template, context, request))
