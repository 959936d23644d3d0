"""Every form of the server's address, and what is said of one that cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks_app.domain.address import Address, parse_address
from tasks_app.domain.config import Config
from tasks_app.domain.errors import ConfigError

SECRET = "s3cr3tPW"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://", Address((("localhost", 6379),))),
        ("redis://h", Address((("h", 6379),))),
        ("redis://h:7000/3", Address((("h", 7000),), options={"db": 3})),
        ("redis://h/3?db=4", Address((("h", 6379),), options={"db": 4})),
        ("redis://[::1]:6380/", Address((("::1", 6380),))),
        ("redis://:p%40ss@h", Address((("h", 6379),), options={"password": "p@ss"})),
        ("redis://dtq:p@ss@h", Address((("h", 6379),), options={"username": "dtq", "password": "p@ss"})),
        ("redis://a:1,b:2,c", Address((("a", 1), ("b", 2), ("c", 6379)))),
        ("rediss://h", Address((("h", 6379),), tls=True)),
        (
            f"rediss://h?ssl_ca_certs={__file__}&ssl_check_hostname=no&ssl_cert_reqs=None",
            Address(
                (("h", 6379),),
                tls=True,
                options={"ssl_ca_certs": __file__, "ssl_check_hostname": False, "ssl_cert_reqs": "none"},
            ),
        ),
        ("redis://h?socket_timeout=0.5", Address((("h", 6379),), options={"socket_timeout": 0.5})),
        ("unix:///run/v.sock?db=1", Address(socket="/run/v.sock", options={"db": 1})),
        ("unix://u:p@/run/a%20b", Address(socket="/run/a b", options={"username": "u", "password": "p"})),
        ("redis+sentinel://a,b:1/main", Address((("a", 26379), ("b", 1)), service="main")),
        (
            "rediss+sentinel://u:p@a/main/2?sentinel_password=q&ssl_check_hostname=0",
            Address(
                (("a", 26379),),
                service="main",
                tls=True,
                options={"username": "u", "password": "p", "db": 2, "ssl_check_hostname": False},
                sentinel_options={"password": "q", "ssl_check_hostname": False},
            ),
        ),
    ],
)
def test_forms(url: str, address: Address) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://h", "must start with"),
        ("h:6379", "must start with"),
        ("REDIS://h", "must start with"),
        ("redis://h:port", "form redis://"),
        ("redis://h:0", "form redis://"),
        ("redis://h:70000", "form redis://"),
        ("redis://a:1,b:x", "form redis://"),
        ("redis://[::1", "form redis://"),
        (f"redis://:{SECRET}/x@h", "form redis://"),
        (f"redis://:{SECRET}#@h", "form redis://"),
        (f"redis://:{SECRET}?@h", "form redis://"),
        ("redis://h/0#1", "form redis://"),
        ("redis://h/zero", "number of a database"),
        ("redis://h/0/1", "number of a database"),
        ("redis://h/1234567890", "number of a database"),
        ("redis://a,b/1", "database 0 only"),
        ("redis://a,b?db=1", "database 0 only"),
        ("redis://h?socket_timeout=abc", "socket_timeout that must be 0.01..3600 seconds"),
        ("redis://h?socket_timeout=nan", "socket_timeout that must be 0.01..3600 seconds"),
        ("redis://h?socket_timeout=", "socket_timeout that must be 0.01..3600 seconds"),
        ("redis://h?db=-1", "db that must be the number"),
        ("redis://h?socket_keepalive=perhaps", "socket_keepalive that must be true or false"),
        (f"redis://h?{SECRET}=1", "an option that is not known; those are db, username"),
        ("redis://h?protocol=3", "an option that is not known"),
        ("redis://h?ssl_ca_certs=/x", "which only rediss://"),
        ("redis://h?sentinel_password=x", "which only redis+sentinel://"),
        ("rediss://h?ssl_ca_certs=/not/there.pem", "ssl_ca_certs that must be a file that is there"),
        ("rediss://h?ssl_cert_reqs=maybe", "required, optional or none"),
        (f"rediss://h?ssl_keyfile={__file__}", "ssl_keyfile without ssl_certfile"),
        ("unix://", "whole path"),
        ("unix://run/valkey.sock", "whole path"),
        ("redis+sentinel://a:1", "form redis+sentinel://"),
        ("redis+sentinel:///main", "form redis+sentinel://"),
        ("redis+sentinel://a/main/x", "form redis+sentinel://"),
        ("redis+sentinel://a:x/main", "form redis+sentinel://"),
    ],
)
def test_what_cannot_work_is_told_without_showing_it(url: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_address(url)
    assert told in refused.value.message
    assert SECRET not in refused.value.message


def test_a_cluster_needs_one_slot() -> None:
    with pytest.raises(ConfigError, match="DTQ_REDIS_URL names several nodes of a cluster, so DTQ_KEY_PREFIX must be"):
        Config(redis_url="redis://a,b,c")
    assert Config(redis_url="redis://a,b,c", key_prefix="{dtq}").key_prefix == "{dtq}"
    assert Config(redis_url="redis+sentinel://a,b,c/main").key_prefix == "dtq"


def test_a_file_is_looked_for_when_the_setting_is_read(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    with pytest.raises(ConfigError, match="a file that is there"):
        Config(redis_url=f"rediss://h?ssl_ca_certs={ca}")
    ca.touch()
    assert Config(redis_url=f"rediss://h?ssl_ca_certs={ca}").redis_url
