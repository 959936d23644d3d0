"""What may be asked of a new API key, and what one covers."""

from __future__ import annotations

import pytest

from tasks_app.domain.api_key import EVERYWHERE, MAX_GLOBS, Reach, Scope, allows, parse_grant
from tasks_app.domain.errors import ValidationError


def test_what_is_left_out_limits_nothing() -> None:
    grant = parse_grant("ci", ["submit"])
    assert grant.scopes == {Scope.SUBMIT}
    assert (grant.reach, grant.rate, grant.lasts_ms) == (EVERYWHERE, None, None)


def test_everything_that_can_be_said() -> None:
    grant = parse_grant("ci-2", ["read", "operate"], ["mail-*", "sms", "mail-*"], "0.5", "90d")
    assert grant.scopes == {Scope.READ, Scope.OPERATE}
    assert grant.reach.globs == ("mail-*", "sms")
    assert (grant.rate, grant.lasts_ms) == (0.5, 90 * 86_400_000)
    assert parse_grant("x", ["read"], rate="0", lasts="12h").rate == 0
    assert parse_grant("x", ["read"], rate="0", lasts="30m").lasts_ms == 1_800_000


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *(("name", name) for name in ("", "-a", "A", "a_b", "ä", "a" * 41, "a\n", "a b")),
        *(("scopes", scopes) for scopes in ([], ["root"], ["read", ""], ["READ"])),
        *(("queues", queues) for queues in ([""], ["a b"], ["Mail"], ["a?"], ["[a]"], ["a"] * (MAX_GLOBS + 1))),
        *(("rate", rate) for rate in ("-1", "x", "1e3", "0.0001", "100001", "nan", "inf", "٣")),
        *(("expires", lasts) for lasts in ("0d", "-1d", "90", "d", "1y", "123456d", "1d ", "٣d")),
    ],
)
def test_what_breaks_a_rule_is_named(field: str, wrong: object) -> None:
    given = {"name": "ci", "scopes": ["read"], "queues": [], "rate": "", "expires": ""} | {field: wrong}
    with pytest.raises(ValidationError) as refused:
        parse_grant(given["name"], given["scopes"], given["queues"], given["rate"], given["expires"])  # type: ignore[arg-type]
    assert list(refused.value.fields) == [field]


@pytest.mark.parametrize(
    ("globs", "covered", "not_covered"),
    [
        ((), ["mail", "x"], []),
        (("mail",), ["mail"], ["mail-1", "e-mail", "mai", "MAIL"]),
        (("mail-*",), ["mail-", "mail-1"], ["mail", "e-mail-1"]),
        (("*-eu", "sms"), ["mail-eu", "-eu", "sms"], ["mail-us", "sms2"]),
        (("a*b*c",), ["abc", "a-b-c", "abbc"], ["ab", "abcd"]),
    ],
)
def test_globs(globs: tuple[str, ...], covered: list[str], not_covered: list[str]) -> None:
    reach = Reach(globs)
    assert [name for name in covered + not_covered if reach.covers(name)] == covered


def test_a_star_alone_is_every_queue() -> None:
    assert parse_grant("x", ["read"], ["mail", "*"]).reach.everywhere


def test_many_stars_cost_nothing() -> None:
    assert not Reach(("*a" * 31 + "*b",)).covers("a" * 64)


@pytest.mark.parametrize(
    ("held", "good_for"),
    [
        ("read", {"read"}),
        ("submit", {"submit"}),
        ("operate", {"read", "operate"}),
    ],
)
def test_who_operates_reads_too_and_nothing_else_follows(held: str, good_for: set[str]) -> None:
    assert {scope for scope in Scope if allows(frozenset({Scope(held)}), scope)} == good_for
