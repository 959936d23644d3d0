"""API keys in Redis: known by their secret alone, withdrawn and expired at once, limited by the server's clock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tasks_app.domain.api_key import EVERYWHERE, Grant, Reach, Scope, parse_grant
from tasks_app.domain.errors import KeyRefused, NotFound, RateLimited, StoreUnavailable, ValidationError
from tasks_app.store.api_keys import ApiKeys, Holder
from tasks_app.store.keys import Keys
from tests.support.builders import ACTOR, make_config
from tests.support.keyspace import dump

if TYPE_CHECKING:
    import redis

    from tasks_app.domain.config import Config
    from tasks_app.store.queries import Queries
    from tests.support.server import PrivateServer

READ = frozenset({Scope.READ})


@pytest.fixture
def api_keys(redis_client: redis.Redis, config: Config) -> ApiKeys:
    return ApiKeys(redis_client, config)


def test_a_key_is_known_by_its_secret(api_keys: ApiKeys) -> None:
    secret = api_keys.grant(parse_grant("ci", ["submit", "read"], ["mail-*", "sms"]), ACTOR)
    assert secret.startswith("dtq_ci_")
    assert api_keys.admit(secret) == Holder("ci", frozenset({Scope.READ, Scope.SUBMIT}), Reach(("mail-*", "sms")))


def test_the_secret_is_nowhere_in_redis(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    secret = api_keys.grant(Grant("ci", READ), ACTOR)
    api_keys.admit(secret)
    assert secret.rpartition("_")[2] not in repr(dump(redis_client))
    assert redis_client.hget(keys.api_key("ci"), "digest") == hashlib.sha256(secret.encode()).hexdigest().encode()


def test_two_keys_have_nothing_in_common(api_keys: ApiKeys) -> None:
    one, two = (api_keys.grant(Grant(name, READ), ACTOR).rpartition("_")[2] for name in ("a", "b"))
    assert one != two
    assert len(one) == 32


@pytest.mark.parametrize(
    "bend",
    [
        lambda secret: "",
        lambda secret: secret[:-1],
        lambda secret: secret + "x",
        lambda secret: secret[:-1] + ("a" if secret[-1] != "a" else "b"),
        lambda secret: secret.upper(),
        lambda secret: secret.replace("dtq_ci", "dtq_other"),
        lambda secret: f" {secret}",
        lambda secret: f"{secret}\n",
        lambda secret: "dtq_ci_" + "ü" * 32,
        lambda secret: "dtq_*_" + "a" * 32,
    ],
)
def test_anything_else_is_refused(api_keys: ApiKeys, bend: Callable[[str], str]) -> None:
    secret = api_keys.grant(Grant("ci", READ), ACTOR)
    with pytest.raises(KeyRefused, match="wrong"):
        api_keys.admit(bend(secret))


def test_a_revoked_key_is_refused_at_once_and_its_name_is_free(api_keys: ApiKeys, redis_client: redis.Redis) -> None:
    secret = api_keys.grant(Grant("ci", READ), ACTOR)
    elsewhere = ApiKeys(redis_client, make_config())
    assert elsewhere.admit(secret).name == "ci"
    api_keys.revoke("ci", ACTOR)
    with pytest.raises(KeyRefused):
        elsewhere.admit(secret)
    with pytest.raises(NotFound):
        api_keys.revoke("ci", ACTOR)
    again = api_keys.grant(Grant("ci", READ), ACTOR)
    with pytest.raises(KeyRefused):
        api_keys.admit(secret)
    assert api_keys.admit(again).name == "ci"


def test_an_expired_key_says_so_to_its_holder_only(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    secret = api_keys.grant(Grant("ci", READ, lasts_ms=60_000), ACTOR)
    assert api_keys.admit(secret).name == "ci"
    redis_client.hset(keys.api_key("ci"), "expires_at", 1)
    with pytest.raises(KeyRefused, match="expired"):
        api_keys.admit(secret)
    with pytest.raises(KeyRefused, match="wrong"):
        api_keys.admit("dtq_ci_" + "a" * 32)
    assert [(key.name, key.expired) for key in api_keys.all()] == [("ci", True)]


def test_the_list_tells_all_but_the_secret(api_keys: ApiKeys, redis_client: redis.Redis) -> None:
    assert api_keys.all() == []
    api_keys.grant(parse_grant("b", ["operate"], ["mail"], "5", "1d"), ACTOR)
    secret = api_keys.grant(Grant("a", READ), ACTOR)
    a, b = api_keys.all()
    assert (a.name, a.scopes, a.reach, a.rate, a.expires_at, a.used_at) == ("a", READ, EVERYWHERE, None, None, None)
    assert b.scopes == {Scope.OPERATE}
    assert (b.reach.globs, b.rate, b.created_by) == (("mail",), 5.0, ACTOR.name)
    assert b.expires_at == b.created_at + 86_400_000
    assert not b.expired
    api_keys.admit(secret)
    used = api_keys.all()[0].used_at
    assert used is not None
    assert used >= a.created_at


def test_the_last_use_is_written_once_a_minute(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    secret = api_keys.grant(Grant("ci", READ), ACTOR)
    api_keys.admit(secret)
    before = dump(redis_client)
    api_keys.admit(secret)
    assert dump(redis_client) == before
    redis_client.hincrby(keys.api_key("ci"), "used_at", -61_000)
    api_keys.admit(secret)
    assert redis_client.hget(keys.api_key("ci"), "used_at") >= before[keys.api_key("ci")][1][b"used_at"]


def test_a_name_is_given_once_and_keys_are_counted(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    api_keys.grant(Grant("ci", READ), ACTOR)
    with pytest.raises(ValidationError, match="taken"):
        api_keys.grant(Grant("ci", READ), ACTOR)
    fillers = [f"k{n}" for n in range(999)]
    redis_client.sadd(keys.api_keys, *fillers)
    with pytest.raises(ValidationError, match="1000"):
        api_keys.grant(Grant("late", READ), ACTOR)
    redis_client.srem(keys.api_keys, *fillers)


def test_the_audit_says_who_made_and_who_withdrew(api_keys: ApiKeys, queries: Queries) -> None:
    api_keys.grant(parse_grant("ci", ["read"], ["mail-*"]), ACTOR)
    api_keys.revoke("ci", ACTOR)
    revoked, granted = queries.audit().items
    assert (granted.action, granted.target, granted.actor) == ("grant", "key:ci", ACTOR.name)
    assert granted.detail == "read; queues mail-*"
    assert (revoked.action, revoked.target, revoked.source) == ("revoke", "key:ci", ACTOR.source)


def test_a_bucket_empties_and_fills(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    secret = api_keys.grant(Grant("ci", READ, rate=0.01), ACTOR)
    api_keys.admit(secret)
    with pytest.raises(RateLimited) as refused:
        api_keys.admit(secret)
    assert 90_000 < refused.value.retry_after_ms <= 100_000
    api_keys.admit(secret, cost=0)
    redis_client.hincrby(keys.api_key("ci"), "filled_at", -100_000)
    api_keys.admit(secret)
    redis_client.hincrby(keys.api_key("ci"), "filled_at", 500_000)  # the clock was set back
    with pytest.raises(RateLimited) as refused:
        api_keys.admit(secret)
    assert refused.value.retry_after_ms <= 100_000


def test_a_bucket_holds_what_a_second_brings(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    secret = api_keys.grant(Grant("ci", READ, rate=5), ACTOR)
    redis_client.hset(keys.api_key("ci"), mapping={"tokens": 5, "filled_at": 10**15})  # ages ahead: nothing comes in
    for _ in range(5):
        api_keys.admit(secret)
    with pytest.raises(RateLimited):
        api_keys.admit(secret)


@pytest.mark.parametrize(("own", "limited"), [(None, True), (0.0, False)])
def test_the_setting_is_for_keys_without_a_rate_of_their_own(
    redis_client: redis.Redis, own: float | None, limited: bool
) -> None:
    api_keys = ApiKeys(redis_client, make_config(api_rate_limit=0.001))
    secret = api_keys.grant(Grant("ci", READ, rate=own), ACTOR)
    api_keys.admit(secret)
    if limited:
        with pytest.raises(RateLimited):
            api_keys.admit(secret)
    else:
        api_keys.admit(secret)


def test_a_wrong_secret_takes_nothing_from_the_bucket(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    api_keys.grant(Grant("ci", READ, rate=1), ACTOR)
    before = dump(redis_client)
    with pytest.raises(KeyRefused):
        api_keys.admit("dtq_ci_" + "a" * 32)
    assert dump(redis_client) == before


@pytest.mark.parametrize(
    "damage",
    [
        {"scopes": None},
        {"queues": None},
        {"digest": None},
        {"expires_at": "soon"},
    ],
)
def test_a_damaged_record_lets_nobody_in(
    api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys, damage: dict[str, Any]
) -> None:
    secret = api_keys.grant(Grant("ci", READ), ACTOR)
    for field, value in damage.items():
        if value is None:
            redis_client.hdel(keys.api_key("ci"), field)
        else:
            redis_client.hset(keys.api_key("ci"), field, value)
    with pytest.raises(KeyRefused):
        api_keys.admit(secret)


def test_odd_records_are_listed_and_can_be_revoked(api_keys: ApiKeys, redis_client: redis.Redis, keys: Keys) -> None:
    secret = api_keys.grant(Grant("ci", READ, rate=1), ACTOR)
    redis_client.hset(keys.api_key("ci"), mapping={"rate": "fast", "scopes": "read root", "created_at": "x"})
    redis_client.sadd(keys.api_keys, "gone", "string")
    redis_client.set(keys.api_key("string"), "x")
    assert [(key.name, key.scopes, key.rate) for key in api_keys.all()] == [
        ("ci", READ, None),
        ("gone", frozenset(), None),
        ("string", frozenset(), None),
    ]
    assert api_keys.admit(secret).scopes == READ
    with pytest.raises(KeyRefused):
        api_keys.admit("dtq_string_" + "a" * 32)
    for name in ("ci", "gone", "string"):
        api_keys.revoke(name, ACTOR)
    assert not redis_client.exists(keys.api_keys)


def test_whether_there_are_keys_is_looked_up_once_a_second(redis_client: redis.Redis, config: Config) -> None:
    now = 0.0
    here, elsewhere = ApiKeys(redis_client, config, lambda: now), ApiKeys(redis_client, config)
    assert not here.in_use()
    elsewhere.grant(Grant("ci", READ), ACTOR)
    assert not here.in_use()
    assert elsewhere.in_use()
    now = 1.0
    assert here.in_use()
    elsewhere.revoke("ci", ACTOR)
    now = 2.0
    assert not here.in_use()


def test_while_redis_is_away_the_last_answer_holds(
    redis_client: redis.Redis, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    fresh, seasoned = ApiKeys(redis_client, config), ApiKeys(redis_client, config, lambda: now)
    seasoned.grant(Grant("ci", READ), ACTOR)
    assert seasoned.in_use()

    def away(*args: object) -> None:
        raise StoreUnavailable("Redis cannot be reached")

    monkeypatch.setattr(ApiKeys, "_one", away)
    now = 5.0
    assert seasoned.in_use()
    with pytest.raises(StoreUnavailable):
        fresh.in_use()


@pytest.mark.real_redis
def test_holders_are_let_in_while_redis_takes_no_writes(make_server: Callable[[], PrivateServer]) -> None:
    from tasks_app.store.connections import connect

    client = connect(make_server().url)
    api_keys = ApiKeys(client, make_config())
    secret = api_keys.grant(Grant("ci", READ, rate=1000), ACTOR)
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", 1)
    assert api_keys.admit(secret).name == "ci"
    with pytest.raises(StoreUnavailable):
        api_keys.grant(Grant("more", READ), ACTOR)
    api_keys.revoke("ci", ACTOR)  # what withdraws a right must not need memory
    with pytest.raises(KeyRefused):
        api_keys.admit(secret)
    client.close()
