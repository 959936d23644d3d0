"""``manage.py apikey``: the secret goes to standard output and nowhere else."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError

from tests.api import shell
from tests.api.client import Api
from tests.api.conftest import Configure


class Ran(shell.Ran):
    """One call of the command."""

    command = "apikey"


@pytest.fixture
def locked(wired: Configure) -> Configure:
    """A server with ``DTQ_API_KEY``."""
    wired(api_key="almighty")
    return wired


def test_what_is_made_works_until_it_is_revoked(locked: Configure) -> None:
    made = Ran("create", "ci", "--scope", "submit", "--scope", "read", "--queue", "mail-*", "--expires", "90d")
    secret = made.out.strip()
    assert (made.code, secret[:7]) == (0, "dtq_ci_")
    assert secret not in made.err
    assert "open local mode" not in made.err
    api = Api()
    assert api.post("tasks", {"task_type": "echo", "queue": "mail-eu"}, x_api_key=secret).status == 202
    assert api.get("tasks", x_api_key=secret).status == 200
    gone = Ran("revoke", "ci")
    assert (gone.code, gone.out, gone.err) == (0, "ci revoked\n", "")
    assert api.get("tasks", x_api_key=secret).status == 401


def test_the_list_shows_everything_but_the_secret(locked: Configure) -> None:
    assert Ran("list").out == "none\n"
    secret = Ran(
        "create", "ci", "--scope", "submit", "--scope", "read", "--queue", "mail-*", "--rate", "2.5"
    ).out.strip()
    Ran("create", "ops", "--scope", "operate", "--rate", "0", "--expires", "12h")
    Api().get("tasks", x_api_key=secret)
    told = Ran("list")
    assert secret.rpartition("_")[2] not in told.out
    head, ci, ops = told.out.splitlines()
    assert head.split() == ["KEY", "SCOPES", "QUEUES", "RATE", "EXPIRES", "USED", "MADE", "BY"]
    assert ci.split()[:4] == ["ci", "read,submit", "mail-*", "2.5/s"]
    assert ops.split()[:4] == ["ops", "operate", "all", "none"]
    bodies = [json.loads(line) for line in Ran("list", "--json").out.splitlines()]
    assert bodies[0]["used_at"] is not None
    assert (bodies[0]["expires_at"], bodies[1]["expired"]) == (None, False)
    assert bodies[1]["created_by"].startswith("cli:")


def test_the_first_key_without_the_almighty_one_says_what_it_ends(wired: Configure) -> None:
    assert "ends open local mode" in Ran("create", "ci", "--scope", "read").err
    assert "ends open local mode" not in Ran("create", "two", "--scope", "read").err
    assert "open local mode again" not in Ran("revoke", "ci").err
    assert "open local mode again" in Ran("revoke", "two").err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["create", "Ci", "--scope", "read"], 2, "name must be"),
        (["create", "ci", "--scope", "root"], 2, "scopes must be"),
        (["create", "ci", "--scope", "read", "--queue", "a b"], 2, "queues must be"),
        (["create", "ci", "--scope", "read", "--rate", "fast"], 2, "rate must be"),
        (["create", "ci", "--scope", "read", "--expires", "soon"], 2, "expires must be"),
        (["revoke", "nobody"], 1, "NOT_FOUND: There is no API key nobody"),
        (["revoke", "\x1b[2J"], 1, "\\u001b[2J"),
    ],
)
def test_a_refusal_is_one_line(locked: Configure, words: list[str], code: int, told: str) -> None:
    ran = Ran(*words)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_a_name_is_given_once(locked: Configure) -> None:
    Ran("create", "ci", "--scope", "read")
    assert (Ran("create", "ci", "--scope", "read").code, Ran("create", "ci", "--scope", "read").out) == (2, "")


@pytest.mark.parametrize("words", [[], ["fly"], ["create"], ["create", "ci"], ["revoke"]])
def test_bad_usage_ends_with_code_2(locked: Configure, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert Ran(*words).code == 2
        assert "usage:" in capsys.readouterr().err
    except CommandError:
        assert words in ([], ["fly"])  # Django's own parser raises where the shell would exit with 2
