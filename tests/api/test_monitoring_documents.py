"""The table of metrics, the dashboard and the alert rules name what a real scrape holds, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from tests.api.client import Api
from tests.api.hand import Hand
from tests.api.test_metrics import scrape
from tests.architecture.sources import ROOT
from tests.support.scrape import Scrape

pytestmark = pytest.mark.real_redis
DOCS = ROOT / "docs"
DASHBOARD = json.loads((DOCS / "monitoring" / "grafana-dashboard.json").read_text(encoding="utf-8"))
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DOCS / "monitoring" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES: dict[str, dict[str, Any]] = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
BY_PROMETHEUS = {"job", "instance", "le"}

NAME = re.compile(r"\bdtq_[a-z_]+\b")
SELECTOR = re.compile(r"\b(dtq_[a-z_]+|up)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")


@pytest.fixture
def seen(api: Api, hand: Hand) -> Scrape:
    """A scrape with a sample of everything."""
    api.submit()
    api.submit()
    hand.succeed()
    hand.fail()
    return scrape()


def expressions() -> list[tuple[str, str]]:
    """Every PromQL text with where it is from."""
    found = [(f"alert {rule['alert']}", rule["expr"]) for rule in RULES]
    found += [(f"panel {panel['title']}", target["expr"]) for panel in PANELS for target in panel["targets"]]
    return found


@pytest.mark.parametrize(("where", "text"), expressions())
def test_an_expression_asks_for_what_is_there(seen: Scrape, where: str, text: str) -> None:
    names = set(NAME.findall(text))
    assert names <= seen.labels.keys()
    assert names or text.startswith("up{")
    for name, matchers in SELECTOR.findall(text):
        labels = seen.labels.get(name, {"job"})
        for label, _, wanted in MATCHER.findall(matchers):
            assert label in labels, f"{name} has no label {label}"
            if name != "up" and not wanted.startswith("$"):
                there = {s.labels.get(label) for family in seen.families for s in family.samples if s.name == name}
                assert set(wanted.split("|")) <= there
    known = set().union(*(seen.labels[name] for name in names)) | BY_PROMETHEUS
    for group in GROUPING.findall(text):
        assert {label.strip() for label in group.split(",") if label.strip()} <= known


def test_legends_and_summaries_show_labels_that_are_left(seen: Scrape) -> None:
    shown = [(target["expr"], target["legendFormat"]) for panel in PANELS for target in panel["targets"]]
    shown += [(rule["expr"], rule["annotations"]["summary"]) for rule in RULES]
    for text, template in shown:
        for label in re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", template):
            groups = [{part.strip() for part in group.split(",")} for group in re.findall(r"\bby \(([^)]*)\)", text)]
            left = groups[0] if groups else set().union(*(seen.labels[name] for name in NAME.findall(text)))
            assert label in left | BY_PROMETHEUS, (label, text)


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES) >= 10
    for rule in RULES:
        assert re.fullmatch(r"\d+[mh]", rule["for"]), rule
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"]["summary"].endswith(".")


@pytest.mark.skipif(not (DOCS / "recovery.md").exists(), reason="docs/recovery.md is not written yet")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_its_link_leads_to_a_heading(rule: dict[str, Any]) -> None:
    path, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor in anchors((ROOT / path).read_text(encoding="utf-8"))


def anchors(text: str) -> set[str]:
    """The anchors of a Markdown file's headings, as the common renderers make them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_the_dashboard_is_whole() -> None:
    assert DASHBOARD["schemaVersion"] >= 38  # Grafana 10
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24 and panel["title"] and panel["description"] and panel["targets"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= VARIABLES.keys() | {"__rate_interval"}


def test_its_variables_come_from_metrics(seen: Scrape) -> None:
    for name in VARIABLES.keys() - {"datasource"}:
        query = re.fullmatch(r"label_values\((\w+), (\w+)\)", VARIABLES[name]["query"]["query"])
        assert query is not None and query[2] in seen.labels[query[1]]


def test_the_table_lists_every_metric(seen: Scrape) -> None:
    rows = re.findall(r"^\| `(dtq_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \|$", (DOCS / "monitoring.md").read_text(), re.M)
    documented = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    exported = {
        f"{family.name}_total" if family.type == "counter" else family.name: (
            family.type,
            set().union(*(sample.labels for sample in family.samples)) - {"le"},
        )
        for family in seen.families
    }
    assert documented == exported
