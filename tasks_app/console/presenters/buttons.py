"""Buttons that are forms of their own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Button:
    """A form with one button. ``asks``: its answer is a question first. ``label`` is what a screen reader says."""

    word: str
    icon: str
    url: str
    label: str
    asks: bool = False
    primary: bool = False
    danger: bool = False
