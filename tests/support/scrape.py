"""An answer of ``/metrics`` to ask questions of."""

from __future__ import annotations

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    """``scrape("dtq_workers", state="ready")`` is one sample's value."""

    def __init__(self, text: str) -> None:
        self.families: list[Metric] = list(text_string_to_metric_families(text))

    def __call__(self, name: str, **labels: str) -> float:
        """The one sample with exactly these labels."""
        [value] = [
            sample.value
            for family in self.families
            for sample in family.samples
            if sample.name == name and sample.labels == labels
        ]
        return value

    def values(self, name: str, **labels: str) -> list[float]:
        """All samples that have these labels among theirs, in order."""
        return [
            sample.value
            for family in self.families
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    def total(self, name: str, **labels: str) -> float:
        """The sum of these samples."""
        return sum(self.values(name, **labels))

    @property
    def labels(self) -> dict[str, set[str]]:
        """Sample name -> the labels that it has here."""
        found: dict[str, set[str]] = {}
        for family in self.families:
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
        return found
