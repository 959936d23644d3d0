"""The site below a path of nginx, which ends TLS: docs/deploy/nginx.conf and the settings of docs/deployment.md."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from django.conf import settings
from playwright.async_api import expect

from tasks_app.live.stream import BEAT_S
from tests.browser.conftest import CHROMIUM, browser, new_context
from tests.browser.tab import open_tab
from tests.support.backend import RealBackend
from tests.support.caller import Answer, Caller
from tests.support.nginx import FILE, PROGRAM, Nginx

__all__ = ["browser"]

if TYPE_CHECKING:
    import redis
    from playwright.async_api import Browser

    from tests.browser.site import Site
    from tests.support.backend import Backend

ROOT = "/queue"
KEY = "k3y-behind-the-proxy"
USER, PASSWORD = "operator", "correct horse battery"
AWAY = re.compile(r'\b(?:href|src|action|hx-get|hx-post|data-events|data-root)="([^"#]+)"')
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@pytest.fixture(scope="module")
def site(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    from tests.browser.site import Site

    if not isinstance(backend, RealBackend):
        pytest.skip("needs a real server")
    if not PROGRAM.exists() and "CI" not in os.environ:
        pytest.skip(f"needs {PROGRAM}")
    made = Site(
        backend.url,
        tmp_path_factory.mktemp("site"),
        api_key=KEY,
        django_behind_https="true",
        django_script_name=ROOT,
    )
    user = {"USERNAME": USER, "PASSWORD": PASSWORD, "EMAIL": "operator@queue.example"}
    made.manage("createsuperuser", "--no-input", **{f"DJANGO_SUPERUSER_{name}": value for name, value in user.items()})
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def proxy(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    made = Nginx(tmp_path_factory.mktemp("nginx"), site.port)
    made.start()
    yield made
    assert made.stop() == ""


@pytest.fixture
def caller(proxy: Nginx, redis_client: redis.Redis) -> Caller:
    return Caller(proxy.tls_port, proxy.authority)


@pytest.fixture
def operator(caller: Caller) -> Caller:
    answer = log_in(caller, f"{ROOT}/")
    assert answer.status == 302, answer.text
    return caller


def log_in(caller: Caller, next_path: str) -> Answer:
    page = caller.get(f"{ROOT}/login/")
    fields = {"username": USER, "password": PASSWORD, "next": next_path, "csrfmiddlewaretoken": token_of(page)}
    return caller.send_form(f"{ROOT}/login/", fields)


def token_of(page: Answer) -> str:
    found = TOKEN.search(page.text)
    assert found, page.text
    return found[1]


def submit(caller: Caller, **fields: Any) -> Answer:
    body = json.dumps({"task_type": "report"} | fields).encode()
    return caller.ask("POST", f"{ROOT}/api/v1/tasks", body, **{"X-API-Key": KEY, "Content-Type": "application/json"})


def task_id_of(answer: Answer) -> str:
    assert answer.status == 202, answer.text
    return str(json.loads(answer.text)["id"])


def test_the_api_speaks_of_itself_below_the_path(caller: Caller) -> None:
    answer = submit(caller)
    task_id = task_id_of(answer)
    assert answer.headers["Location"] == f"{ROOT}/api/v1/tasks/{task_id}"
    assert caller.get(answer.headers["Location"], **{"X-API-Key": KEY}).status == 200
    schema = json.loads(caller.get(f"{ROOT}/api/schema/?format=json").text)
    assert [server["url"] for server in schema["servers"]] == [ROOT]
    assert "/api/v1/tasks" in schema["paths"]


def test_who_is_not_signed_in_comes_back_to_where_they_were(caller: Caller) -> None:
    wanted = f"{ROOT}/tasks/?status=queued"
    away = caller.get(wanted)
    assert away.status == 302
    assert away.headers["Location"] == f"{ROOT}/login/?{urlencode({'next': wanted})}"
    answer = log_in(caller, wanted)
    assert (answer.status, answer.headers["Location"]) == (302, wanted)
    assert caller.get(wanted).status == 200


def test_cookies_go_over_tls_and_below_the_path_only(operator: Caller) -> None:
    assert set(operator.cookies) == {"dtq_session", "dtq_csrf"}
    for morsel in operator.cookies.values():
        assert morsel["secure"] and morsel["httponly"]
        assert morsel["path"] == f"{ROOT}/"


def test_a_stranger_s_form_is_refused_and_an_own_one_is_not(operator: Caller) -> None:
    task_id = task_id_of(submit(operator))
    page = operator.get(f"{ROOT}/tasks/{task_id}/")
    path, fields = f"{ROOT}/tasks/{task_id}/cancel/", {"csrfmiddlewaretoken": token_of(page)}
    assert operator.send_form(path, fields, Origin="https://elsewhere.example").status == 403
    answer = operator.send_form(path, fields)
    assert answer.status == 302
    assert urlsplit(answer.headers["Location"]).path.startswith(f"{ROOT}/")
    task = operator.get(f"{ROOT}/api/v1/tasks/{task_id}", **{"X-API-Key": KEY})
    assert json.loads(task.text)["status"] == "cancelled"


def test_every_link_and_file_is_below_the_path_and_there(operator: Caller) -> None:
    task_id_of(submit(operator, queue="mail"))
    seen: dict[str, int] = {}
    ahead = [f"{ROOT}/"]
    while ahead:
        path = ahead.pop()
        if path in seen or path.endswith("/events"):
            continue
        answer = operator.get(path)
        seen[path] = answer.status
        if answer.status == 302:
            ahead.append(answer.headers["Location"].partition("?")[0])
            assert ahead[-1].startswith(f"{ROOT}/"), path
        if answer.status == 200 and answer.headers.get_content_type() == "text/html":
            found = {urljoin(path, link.replace("&amp;", "&")) for link in AWAY.findall(answer.text)}
            assert {link for link in found if not link.startswith((f"{ROOT}/", "data:"))} == set(), path
            ahead += [link for link in sorted(found) if "?" not in link]
    assert {path: status for path, status in seen.items() if status not in {200, 302, 405}} == {}
    kinds = {path.removeprefix(ROOT).split("/")[1] for path in seen}
    assert kinds >= {"", "tasks", "queues", "dlq", "workers", "audit", "system", "static", "api"}


def test_a_fragment_is_refreshed(operator: Caller) -> None:
    task_id_of(submit(operator, queue="mail"))
    answer = operator.get(f"{ROOT}/queues/?fragment=queues", **{"HX-Request": "true"})
    assert answer.status == 200
    assert "<html" not in answer.text
    assert f'href="{ROOT}/queues/mail/' in answer.text


@pytest.mark.skipif(not Path(CHROMIUM).exists() and "CI" not in os.environ, reason=f"needs {CHROMIUM}")
async def test_a_browser_is_at_home_there(caller: Caller, browser: Browser) -> None:
    context = await new_context(browser, ignore_https_errors=True)
    tab = await open_tab(context, caller.origin + ROOT)
    await tab.go("/tasks/?status=queued")
    await tab.page.fill("#id_username", USER)
    await tab.page.fill("#id_password", PASSWORD)
    await tab.page.press("#id_password", "Enter")
    await tab.live()
    assert tab.page.url == f"{caller.origin}{ROOT}/tasks/?status=queued"
    assert await tab.page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol") == "h2"
    await expect(tab.page.locator("#stamp")).to_have_attribute("title", "Updates arrive by event stream")
    task_id = task_id_of(submit(caller))
    await expect(tab.page.locator(f"#t-{task_id}")).to_be_visible()
    tab.check()
    await context.close()


@pytest.mark.parametrize("door", ["/events", "/api/v1/events"])
def test_an_event_stream_is_not_held_up(operator: Caller, door: str) -> None:
    with operator.open("GET", ROOT + door, **{"X-API-Key": KEY}) as stream:
        assert stream.status == 200
        assert stream.readline() == b"event: hello\n"
        task_id, sent_at = task_id_of(submit(operator)), time.monotonic()
        line = b""
        while task_id.encode() not in line:
            line = stream.readline()
            assert time.monotonic() - sent_at < BEAT_S / 2, line  # with a beat it may be pushed through


def test_the_audit_knows_where_somebody_came_from(caller: Caller) -> None:
    task_id = task_id_of(submit(caller))
    lie = {"X-Forwarded-For": "203.0.113.9", "X-Real-IP": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
    assert caller.ask("POST", f"{ROOT}/api/v1/tasks/{task_id}/cancel", **lie, **{"X-API-Key": KEY}).status == 202
    audit = json.loads(caller.get(f"{ROOT}/api/v1/audit", **{"X-API-Key": KEY}).text)["items"]
    assert [entry["source"] for entry in audit if entry["task_id"] == task_id] == ["127.0.0.2"]


def test_browsers_are_told_to_stay_with_tls(caller: Caller, proxy: Nginx, site: Site) -> None:
    for path in ("/login/", "/static/css/app.css", "/api/v1/tasks"):
        assert caller.get(ROOT + path).headers["Strict-Transport-Security"] == "max-age=31536000"
    plain = plain_get(proxy.plain_port, f"{ROOT}/tasks/?q=1")
    assert plain.startswith("HTTP/1.1 308 ")
    assert f"location: https://127.0.0.1{ROOT}/tasks/?q=1" in plain.lower()
    with socket.create_connection(("127.0.0.1", proxy.tls_port)) as raw:
        tls = ssl.create_default_context(cafile=proxy.authority)
        tls.set_alpn_protocols(["h2", "http/1.1"])
        with tls.wrap_socket(raw, server_hostname="127.0.0.1") as line:
            assert line.selected_alpn_protocol() == "h2"
    # Past the proxy, as monitoring asks: with the path and without it.
    for path in ("/health", "/ready", f"{ROOT}/health"):
        assert plain_get(site.port, path).startswith("HTTP/1.1 200 "), path
    assert plain_get(site.port, f"{ROOT}/tasks/").startswith("HTTP/1.1 301 ")


def test_the_path_without_its_slash_leads_in(caller: Caller) -> None:
    answer = caller.get(ROOT)
    assert (answer.status, answer.headers["Location"]) == (308, f"{ROOT}/")
    assert caller.get("/").headers.get("X-Request-ID") is None  # what stands beside the path is not the site's


def test_the_site_refuses_a_payload_and_the_proxy_what_nobody_could_want(caller: Caller) -> None:
    assert submit(caller, payload={"text": "x" * 200_000}).status == 202
    refused = submit(caller, payload={"text": "x" * 300_000})
    assert (refused.status, json.loads(refused.text)["code"]) == (413, "PAYLOAD_TOO_LARGE")
    [limit] = re.findall(r"client_max_body_size (\d+)m;", FILE.read_text())
    assert int(limit) * 1024 * 1024 == settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def plain_get(port: int, path: str) -> str:
    """The head of an answer over plain HTTP."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        with line.makefile("rb") as answer:
            return answer.read().decode(errors="replace").partition("\r\n\r\n")[0]
