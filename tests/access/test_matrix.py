"""Every URL and method of the site, asked for by everybody there is: answered as docs/access.md says.

The tables are read from the document and the URLs from Django's resolver, so neither can part from the other.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from dtq_site.streams import ASYNC_APPS
from tasks_app import runtime
from tasks_app.domain.api_key import parse_grant
from tasks_app.domain.operation import Selection
from tasks_app.domain.transitions import Action
from tasks_app.store.presence import Heartbeat
from tests.access.callers import ALMIGHTY, Caller, Heard, misplaced, partial, people, programs, strangers
from tests.access.table import KEYS, METHODS, PEOPLE, Row, documented, plain, served
from tests.support.builders import ACTOR

if TYPE_CHECKING:
    from tasks_app.store.presence import Presence
    from tests.console.conftest import Configure
    from tests.support.stage import Stage

ROWS: dict[str, list[Row]] = defaultdict(list)
for _row in documented():
    ROWS[plain(_row.url)].append(_row)

OWN, FOREIGN = "own-mail", "foreign"
WORKER = "host-1-0badcafe"
CANARY = "canary"
ELSEWHERE = "/api/v1/<>"


def test_the_tables_name_every_url_of_the_site_and_no_other() -> None:
    assert set(ROWS) == served(), "docs/access.md says of each URL who may use it"


def test_the_tables_have_the_columns_that_are_asked_for() -> None:
    assert {tuple(row.cells) for row in documented()} == {PEOPLE, KEYS}


def test_no_method_of_a_url_is_answered_twice() -> None:
    for url, rows in ROWS.items():
        methods = [method for row in rows for method in row.methods]
        assert len(methods) == len(set(methods)), url


@dataclass
class Scene:
    """What there is to be asked for, and to be kept from strangers."""

    stage: Stage
    own: str
    foreign: str
    user_id: int
    operations: dict[str, str]
    """Per queue the bulk action that runs on it."""

    def address(self, url: str, *, foreign: bool = False) -> str:
        """The URL of something that exists, in a queue of one's own or in another."""
        queue = FOREIGN if foreign else OWN
        ids = {
            "/users/": str(self.user_id),
            "/api/v1/workers/": WORKER,
            "/api/v1/operations/": self.operations[queue],
            "/operations/": self.operations[queue],
        }
        task = self.foreign if foreign else self.own
        named = next((value for start, value in ids.items() if url.startswith(start)), task)
        return (
            url.replace("<id>", named)
            .replace("<q>", queue)
            .replace("<name>", "spare" if url.startswith("/keys/") else "payload")
            .replace("<anything else>", "nothing/of/the/sort")
        )

    def facts(self) -> Any:
        """What a refused request must leave as it is."""
        client, keys = self.stage.client, self.stage.keys
        records = [self.stage.record(task_id) for task_id in (self.own, self.foreign)]
        paused = [client.get(keys.paused(queue)) for queue in (OWN, FOREIGN)]
        return records, paused, client.xlen(keys.audit), client.smembers(keys.queues), client.smembers(keys.api_keys)


@pytest.fixture
def scene(configure: Configure, stage: Stage, presence: Presence, django_user_model: Any) -> Scene:
    configure(api_key=ALMIGHTY)
    presence.heartbeat(Heartbeat(WORKER, CANARY, 1, "1", 1.0, "ready", 1, 0, (), 0, 0))
    told = {"task_type": CANARY, "payload_json": f'{{"note":"{CANARY}"}}'}
    runtime.api_keys().grant(parse_grant("spare", ["read"]), ACTOR)
    user = django_user_model.objects.create(username=CANARY)
    own, foreign = (stage.submit(queue=queue, **told) for queue in (OWN, FOREIGN))
    begin = runtime.operations().begin
    operations = {queue: begin(Action.CANCEL, Selection(queue=queue), ACTOR).id for queue in (OWN, FOREIGN)}
    return Scene(stage, own, foreign, user.pk, operations)


def expected(url: str, method: str, caller: Caller) -> str:
    """What the document says that a caller is answered."""
    rows = ROWS[plain(url)]
    row = next((row for row in rows if method in row.methods or not row.methods), None)
    column = caller.person if tuple(rows[0].cells) == PEOPLE else caller.program
    if row is None:
        asks_first = url.startswith("/api/v1/") or url in ASYNC_APPS
        return "401" if asks_first and column in {"no key", "anonymous", "no role"} else "405"
    if column == "no role":
        return row.cells["anonymous"].replace("login", "403")
    if column == "all":
        return "404" if plain(url) == ELSEWHERE else "yes"
    return row.cells[column]


def ask(scene: Scene, caller: Caller, method: str, url: str, *, foreign: bool = False) -> Heard:
    queue = FOREIGN if foreign else OWN
    task = {"task_type": "echo", "queue": queue}
    bodies = {
        "/api/v1/tasks": task,
        "/api/v1/tasks/bulk": {"tasks": [task]},
        "/api/v1/operations": {"action": "cancel", "filter": {"queue": queue}},
    }
    body = json.dumps(bodies[url]).encode() if method == "POST" and url in bodies else b""
    heard = caller.ask(method, scene.address(url, foreign=foreign), body)
    if url == "/api/v1/tasks/bulk" and heard.word == "yes":
        [item] = json.loads(heard.text)["items"]
        return Heard("yes" if item["status"] == 202 else str(item["status"]), json.dumps(item["error"]), heard.headers)
    return heard


def judge(scene: Scene, caller: Caller, method: str, url: str, word: str, *, foreign: bool = False) -> None:
    """Ask and compare; a refusal tells nothing and changes nothing."""
    before = scene.facts() if word != "yes" else None
    heard = ask(scene, caller, method, url, foreign=foreign)
    assert heard.word == word, f"{caller.name}: {method} {url}: {heard.word}, not {word}"
    if word == "yes":
        return
    assert scene.facts() == before, f"{caller.name}: {method} {url} changed something"
    assert CANARY not in heard.text, f"{caller.name}: {method} {url} tells what is there"
    if word == "401" and plain(url) != plain("/events") and url not in ASYNC_APPS:
        assert heard.headers["WWW-Authenticate"]


def judge_partly(scene: Scene, caller: Caller, method: str, url: str) -> None:
    """A key for some queues: what is its own it gets, of the rest it learns nothing."""
    cell = expected(url, method, caller)
    if not cell.startswith("own"):
        return judge(scene, caller, method, url, cell)
    heard = ask(scene, caller, method, url)
    assert heard.word == "yes", f"{method} {url}"
    if method == "GET" and url not in ASYNC_APPS:
        assert OWN in heard.text or scene.own in heard.text or url == "/api/v1/dlq", url
    assert FOREIGN not in heard.text and scene.foreign not in heard.text, url
    if "else" in cell:
        judge(scene, caller, method, url, cell.rpartition(" ")[2], foreign=True)
    return None


def ask_everybody(scene: Scene, url: str) -> None:
    rows = ROWS[plain(url)]
    for_people = tuple(rows[0].cells) == PEOPLE
    keyed = programs()
    reader = keyed[0].headers["X-API-Key"]
    callers = [*people(), *keyed] if for_people else [*strangers(), *misplaced(reader), *keyed]
    some = partial("own-*")
    for method in METHODS:
        for caller in callers:
            judge(scene, caller, method, url, expected(url, method, caller))
        if not for_people:
            judge_partly(scene, some, method, url)


@pytest.mark.django_db
@pytest.mark.parametrize("url", sorted(rows[0].url for rows in ROWS.values() if rows[0].url not in ASYNC_APPS))
def test_everybody_is_answered_as_the_document_says(scene: Scene, url: str) -> None:
    ask_everybody(scene, url)


@pytest.mark.django_db(transaction=True)  # these look for the session from another thread
@pytest.mark.parametrize("url", sorted(ASYNC_APPS))
def test_event_streams_are_for_whom_the_document_says(scene: Scene, url: str) -> None:
    ask_everybody(scene, url)


def test_the_metrics_token_opens_the_metrics_and_nothing_else(configure: Configure) -> None:
    configure(api_key=ALMIGHTY, metrics_token="scraper")
    for headers, word in (({"Authorization": "Bearer scraper"}, "yes"), ({"X-API-Key": "scraper"}, "401")):
        caller = Caller("a scraper", headers=headers)
        assert caller.ask("GET", "/metrics").word == word
        assert caller.ask("GET", "/api/v1/tasks").word == "401"
        assert caller.ask("GET", "/tasks/").word == "login"


@pytest.mark.django_db
@pytest.mark.parametrize("url", sorted(url for url in ROWS if "<" not in url and url not in ASYNC_APPS))
def test_open_local_mode_lets_everybody_but_manage_access(configure: Configure, stage: Stage, url: str) -> None:
    configure()
    [row] = [row for row in ROWS[url] if "GET" in row.methods or "POST" in row.methods][:1]
    method = "GET" if "GET" in row.methods else "POST"
    but = {"/users/": "403", "/keys/": "403", "/password/": "login"}
    word = next((word for start, word in but.items() if url.startswith(start)), "yes")
    assert Caller("anybody").ask(method, url).word == word
