"""Named API keys: made, listed, withdrawn, and asked for by every request that carries one.

Redis has a digest of each secret and never the secret. A secret has 190 random bits, so one pass of SHA-256 is enough:
there is nothing to guess that a slow hash would protect, and one would be paid for with every request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import time
from collections.abc import Callable
from dataclasses import dataclass

import redis

from tasks_app.domain.api_key import ApiKey, Grant, Reach, Scope
from tasks_app.domain.config import Config
from tasks_app.domain.errors import KeyRefused, NotFound, RateLimited, StoreUnavailable, ValidationError
from tasks_app.domain.snapshot import Actor
from tasks_app.store.codec import number
from tasks_app.store.reader import Pipeline, Reader
from tasks_app.store.scripts import MAX_API_KEYS, Scripts

LOOK_EVERY_S = 1.0
_LETTERS = string.ascii_letters + string.digits
_SECRET_LETTERS = 32
_SECRET = re.compile(rf"dtq_([a-z0-9][a-z0-9-]{{0,39}})_[A-Za-z0-9]{{{_SECRET_LETTERS}}}")


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose key it was, and what it is good for."""

    name: str
    scopes: frozenset[Scope]
    reach: Reach


class ApiKeys(Reader):
    """The keys of the fleet. Whatever this tells holds at that moment: nothing is remembered, so nothing lingers."""

    def __init__(self, client: redis.Redis, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(client, config)
        self._scripts = Scripts(client, config)
        self._clock = clock
        self._in_use: bool | None = None
        self._look_at = float("-inf")

    def grant(self, grant: Grant, actor: Actor) -> str:
        """Make a key. Its secret, ``dtq_<name>_<32 letters and digits>``, is told here and never again.

        Raises:
            ValidationError: the name is taken, or there are ``MAX_API_KEYS`` already.
        """
        secret = f"dtq_{grant.name}_{''.join(secrets.choice(_LETTERS) for _ in range(_SECRET_LETTERS))}"
        scopes, globs = " ".join(sorted(grant.scopes)), " ".join(grant.reach.globs)
        fields = ["digest", _digest(secret), "scopes", scopes, "queues", globs]
        if grant.rate is not None:
            fields += ["rate", f"{grant.rate:f}"]
        told = f"{scopes}; queues {globs or 'all'}"
        lasts = "" if grant.lasts_ms is None else grant.lasts_ms
        word = self._scripts.run("grant", *actor.arguments, grant.name, lasts, told, *fields)
        if word == b"TAKEN":
            raise ValidationError({"name": ["is taken by another key"]})
        if word == b"TOO_MANY":
            raise ValidationError({"name": [f"would be one more than {MAX_API_KEYS} keys"]})
        self._in_use = True
        return secret

    def revoke(self, name: str, actor: Actor) -> None:
        """Withdraw a key: from here on it is refused, by every web process. Raises NotFound."""
        if self._scripts.run("revoke", *actor.arguments, name) == b"NOT_FOUND":
            raise NotFound(f"There is no API key {name}")

    def all(self) -> list[ApiKey]:
        """Every key by name, expired ones included. Two round trips."""
        names = sorted(name.decode(errors="replace") for name in self._one("smembers", self._keys.api_keys))

        def read(pipe: Pipeline) -> None:
            pipe.time()
            for name in names:
                pipe.hgetall(self._keys.api_key(name))

        if not names:
            return []
        (seconds, micros), *records = self._all_of_any_kind(read)
        now = seconds * 1000 + micros // 1000
        return [_listed(name, record or {}, now) for name, record in zip(names, records, strict=True)]

    def admit(self, secret: str, cost: int = 1) -> Holder:
        """Let whoever sent ``secret`` in. One round trip, none for what cannot be a secret of ours.

        Args:
            secret: as it was sent.
            cost: how many tokens of the key's bucket it takes; 0 only asks.

        Raises:
            KeyRefused: no such key, withdrawn, or expired.
            RateLimited: it is asked for too often.
        """
        found = _SECRET.fullmatch(secret)
        if found is None:
            raise KeyRefused("The API key is wrong")
        word, *rest = self._scripts.run("admit", found[1], _digest(secret), cost, f"{self._config.api_rate_limit:f}")
        if word == b"WRONG":
            raise KeyRefused("The API key is wrong")
        if word == b"EXPIRED":
            raise KeyRefused("The API key has expired")
        if word == b"LIMITED":
            raise RateLimited(int(rest[0]))
        scopes, globs = (part.decode(errors="replace") for part in rest)
        return Holder(found[1], _scopes(scopes), Reach(tuple(globs.split())))

    def in_use(self) -> bool:
        """True when there is any key, expired ones included; as of a second ago at most, so hardly any round trip.

        Raises:
            StoreUnavailable: Redis does not answer, and has not answered this process before.
        """
        now = self._clock()
        if now >= self._look_at:
            try:
                self._in_use = bool(self._one("exists", self._keys.api_keys))
            except StoreUnavailable:
                if self._in_use is None:
                    raise
            self._look_at = now + LOOK_EVERY_S
        return bool(self._in_use)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _scopes(text: str) -> frozenset[Scope]:
    return frozenset(Scope(word) for word in text.split() if word in set(Scope))


def _rate(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None  # planted by hand; the script leaves it to the setting, too


def _listed(name: str, record: dict[bytes, bytes], now: int) -> ApiKey:
    texts = {field.decode(errors="replace"): value.decode(errors="replace") for field, value in record.items()}
    expires_at = number(texts["expires_at"]) if "expires_at" in texts else None
    return ApiKey(
        name=name,
        scopes=_scopes(texts.get("scopes", "")),
        reach=Reach(tuple(texts.get("queues", "").split())),
        rate=_rate(texts.get("rate")),
        created_at=number(texts.get("created_at")),
        created_by=texts.get("created_by", ""),
        expires_at=expires_at,
        used_at=number(texts.get("used_at")) or None,
        expired=expires_at is not None and now >= expires_at,
    )
