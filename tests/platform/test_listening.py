"""Who may reach the site, and what is said when the port cannot be had."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from django.core.management.base import CommandError

from tasks_app import conf
from workers.listening import (
    HOSTS_VARIABLE,
    allow_own_names,
    bind,
    check_listening_arguments,
    check_openness,
    is_loopback,
)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("DTQ_API_KEY", raising=False)
    monkeypatch.setenv(HOSTS_VARIABLE, "")
    conf.config.cache_clear()
    yield
    conf.config.cache_clear()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_open_mode_serves_this_machine(host: str) -> None:
    assert is_loopback(host)
    check_openness(host, insecure_open=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "dtq.example"])
def test_open_mode_refuses_others_and_says_the_way_out(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="Set DTQ_API_KEY"):
        check_openness(host, insecure_open=False)
    check_openness(host, insecure_open=True)
    monkeypatch.setenv("DTQ_API_KEY", "long-enough")
    conf.config.cache_clear()
    check_openness(host, insecure_open=False)


def test_a_taken_port() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} on 127.0.0.1 is in use"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize(
    ("port", "processes", "rule"),
    [(-1, 1, "--port must be 0..65535"), (65_536, 1, "--port must be 0..65535"), (1, 0, "--processes must be 1..256")],
)
def test_numbers_that_cannot_work_are_refused(port: int, processes: int, rule: str) -> None:
    check_listening_arguments({"port": 65_535, "processes": 256})
    with pytest.raises(CommandError, match=rule):
        check_listening_arguments({"port": port, "processes": processes})


def test_an_address_of_another_machine() -> None:
    with pytest.raises(CommandError, match="Cannot listen on 192.0.2.7 port 8000"):
        bind("192.0.2.7", 8000)


def test_the_machines_own_names_are_allowed_where_it_is_reachable() -> None:
    allow_own_names("0.0.0.0")
    names = os.environ[HOSTS_VARIABLE].split(",")
    assert {"localhost", "127.0.0.1", socket.gethostname()} <= set(names)
    assert "*" not in names


def test_names_that_the_operator_lists_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOSTS_VARIABLE, "dtq.example")
    allow_own_names("0.0.0.0")
    assert os.environ[HOSTS_VARIABLE] == "dtq.example"


def test_loopback_needs_no_names() -> None:
    allow_own_names("127.0.0.1")
    assert os.environ[HOSTS_VARIABLE] == ""
