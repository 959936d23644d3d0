"""A server behind TLS and an ACL: what a worker needs, and what happens when its way in changes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.connections import connect, translating
from tests.process.fleet import Fleet
from tests.process.test_links import lasting
from tests.process.trial import trial_of
from tests.support import certificates
from tests.support.node import Node

# The bundled Valkey is built without TLS; Debian's redis-server has it.
BINARY = shutil.which("redis-server") or ""
pytestmark = [
    pytest.mark.skipif(not BINARY, reason="needs a redis-server with TLS on PATH"),
    pytest.mark.skipif(not certificates.available(), reason="needs an openssl program"),
]
RIGHTS = "~dtq:* &dtq:* +@all -@admin -@dangerous +info +config|get"
"""As docs/settings.md has them."""
OPERATOR, PASSWORD = "0perator", "p@ss/w:rd"


class Fortress:
    """A server that speaks TLS only, and knows the user ``dtq`` and an operator."""

    def __init__(self, folder: Path) -> None:
        self.ca = certificates.authority(folder, "ca")
        self.certificate = certificates.certificate(folder, "server", self.ca)
        login = {"ssl": True, "ssl_ca_certs": str(self.ca), "password": OPERATOR}
        self.node = Node(
            binary=BINARY,
            login=login,
            more=f"user dtq on >{PASSWORD} {RIGHTS}",
            requirepass=OPERATOR,
            tls_cert_file=str(self.certificate),
            tls_key_file=str(self.certificate.with_suffix(".key")),
            tls_ca_cert_file=str(self.ca),
            tls_auth_clients="no",
        )
        self.url = f"rediss://dtq:p%40ss%2Fw%3Ard@{self.node.address}?socket_timeout=1&ssl_ca_certs={self.ca}"
        seen_by = f"rediss://:{OPERATOR}@{self.node.address}?ssl_ca_certs={self.ca}"
        self.fleet = Fleet(self.url, folder, seen_by=seen_by)
        self.worker = self.fleet.worker()

    def present(self, certificate: Path) -> None:
        """Have the server show another certificate to new connections; the test's own stays open all the while."""
        key = certificate.with_suffix(".key")
        self.fleet.client.config_set("tls-cert-file", str(certificate), "tls-key-file", str(key))

    def drop_clients(self) -> None:
        for kind in ("normal", "pubsub"):
            self.fleet.client.client_kill_filter(_type=kind, skipme=True)

    def close(self) -> None:
        self.fleet.close()
        self.node.close()


@pytest.fixture(scope="module")
def fortress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fortress]:
    made = Fortress(tmp_path_factory.mktemp("access"))
    yield made
    made.close()


def refusal(url: str) -> str:
    """What a client at ``url`` is told."""
    client = connect(url)
    with pytest.raises(StoreUnavailable) as told, translating():
        client.ping()
    client.close()
    return told.value.message


def test_a_password_that_changes_stops_work_until_it_is_known_again(fortress: Fortress) -> None:
    with trial_of(fortress.fleet) as trial:
        fortress.node.ask("ACL", "SETUSER", "dtq", "resetpass", ">another")
        fortress.drop_clients()
        assert refusal(fortress.url) == "Redis wants another user name or password"
        over = lasting(1, trial)
        fortress.node.ask("ACL", "SETUSER", "dtq", f">{PASSWORD}")
        trial.flows_again(since=over, within=5)
        trial.reckon()


def test_a_right_that_is_taken_away_stops_work_until_it_is_back(fortress: Fortress) -> None:
    with trial_of(fortress.fleet) as trial:
        fortress.node.ask("ACL", "SETUSER", "dtq", "-@scripting")
        with pytest.raises(StoreUnavailable, match="does not allow its user"):
            trial.submit()
        over = lasting(1, trial)
        fortress.node.ask("ACL", "SETUSER", "dtq", "+@scripting")
        trial.flows_again(since=over, within=5)
        trial.reckon()


def test_a_certificate_that_nobody_vouches_for_stops_work_until_it_is_replaced(
    fortress: Fortress, tmp_path: Path
) -> None:
    foreign = certificates.certificate(tmp_path, "foreign", certificates.authority(tmp_path, "stranger"))
    with trial_of(fortress.fleet) as trial:
        fortress.present(foreign)
        fortress.drop_clients()
        assert refusal(fortress.url) == "No TLS connection to Redis: CERTIFICATE_VERIFY_FAILED"
        over = lasting(1, trial)
        fortress.present(fortress.certificate)
        trial.flows_again(since=over, within=5)
        trial.reckon()
