"""docs/deploy: the units, the image and the compose file name what there is, and give it the time it needs."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from dtq_site.site import PREFIX, site_from_env
from tasks_app.conf import PROJECT_DIR
from tasks_app.domain.config import Config, config_from_env
from tasks_app.domain.errors import ConfigError
from tests.support.nginx import FILE as NGINX
from workers.fleet import STOP_MARGIN_S
from workers.web import SHUTDOWN_TIMEOUT_S
from workers.web import STOP_MARGIN_S as WEB_STOP_MARGIN_S

DEPLOY = PROJECT_DIR / "docs" / "deploy"
UNITS = DEPLOY / "systemd"
SERVICES = sorted(UNITS.glob("*.service"))
PYTHON = "/opt/dtq/.venv/bin/python"
STOPS_WITHIN_S = {
    "runworker": Config(data_dir=Path("var")).drain_timeout_s + STOP_MARGIN_S,
    "runweb": SHUTDOWN_TIMEOUT_S + WEB_STOP_MARGIN_S,
    "runscheduler": 10,
}
NEVER_GOES_ABOVE = 1.5
"""``systemd-analyze security`` calls up to 1.9 "OK", which is its best but for "SAFE"."""


def setting(unit: Path, name: str) -> str:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names of units know capitals
    parser.read_string(unit.read_text())
    return parser["Service"][name]


def understand(arguments: list[str]) -> str:
    """The command that ``manage.py`` would run; its parser refuses what it does not know."""
    name, *options = arguments
    command = load_command_class(get_commands()[name], name)
    parser = command.create_parser("manage.py", name)
    parser.called_from_command_line = False  # then it raises instead of ending the process
    parser.parse_args(options)
    return name


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return read


def dockerfile() -> list[tuple[str, str]]:
    """Its instructions and what follows them, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_a_unit_starts_what_there_is_and_lets_it_end(unit: Path) -> None:
    python, script, *arguments = shlex.split(setting(unit, "ExecStart").replace("$WORKER_OPTIONS", "--queues a,b"))
    assert (python, script) == (PYTHON, "manage.py")
    assert seconds(setting(unit, "TimeoutStopSec")) > STOPS_WITHIN_S[understand(arguments)]


def test_only_the_main_process_of_a_unit_is_asked_to_stop() -> None:
    common = UNITS / "dtq-.service.d" / "common.conf"
    assert (setting(common, "KillMode"), setting(common, "KillSignal")) == ("mixed", "SIGTERM")
    assert setting(common, "Restart") == "always"
    assert {unit.name for unit in SERVICES} == {"dtq-scheduler.service", "dtq-web.service", "dtq-worker@.service"}


def test_the_environment_file_has_settings_that_hold() -> None:
    text = re.sub(r"(?m)^#(?=DTQ_)", "", (DEPLOY / "dtq.env").read_text())
    env = dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    site, problems = site_from_env(env)
    assert problems == []
    with pytest.raises(ConfigError, match="DTQ_API_KEY"):  # nobody runs on the example's
        config_from_env(env)
    config = config_from_env(env | {"DTQ_API_KEY": "k" * 32})
    assert (site.behind_https, config.open_mode) == (True, False)
    nginx = NGINX.read_text()
    assert f"location {site.script_name}/ {{" in nginx
    assert f"server_name {site.allowed_hosts[0]};" in nginx
    assert "localhost" in site.allowed_hosts  # as which the probes ask


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units on a host of which the project is where this one is."""
    folder = tmp_path / "units"
    shutil.copytree(UNITS, folder)
    for unit in folder.glob("*.service"):
        unit.write_text(unit.read_text().replace(PYTHON, sys.executable))
    return folder


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_and_little_exposed(units: Path) -> None:
    names = ["dtq.target", "dtq-web.service", "dtq-worker@mail.service", "dtq-scheduler.service"]
    env = {"SYSTEMD_UNIT_PATH": f"{units}:", "PATH": "/usr/bin:/bin", "SYSTEMD_COLORS": "0", "LANG": "C.UTF-8"}
    found = analyze(env, "verify", "--man=no", *(str(units / name) for name in names))
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
    for name in names[1:]:
        # The threshold is in tenths.
        limit = f"--threshold={NEVER_GOES_ABOVE * 10:.0f}"
        judged = analyze(env, "security", "--offline=true", "--no-pager", limit, str(units / name))
        assert judged.returncode == 0, judged.stdout + judged.stderr


def analyze(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *arguments], env=env, capture_output=True, text=True)


def test_the_image_is_made_of_what_there_is() -> None:
    instructions = dockerfile()
    copied = [source for word, rest in instructions if word == "COPY" for source in rest.split()[:-1]]
    assert [source for source in copied if not (PROJECT_DIR / source).exists()] == []
    assert {"dtq_site", "tasks_app", "workers", "templates", "static", "manage.py"} <= set(copied)
    last = dict(instructions)
    assert last["USER"] == "dtq"
    assert json.loads(last["ENTRYPOINT"]) == ["python", "manage.py"]
    assert understand(json.loads(last["CMD"])) == "runweb"
    runs = " && ".join(rest for word, rest in instructions if word == "RUN")
    [collect] = re.findall(r"manage\.py (.+)$", runs)
    assert understand(shlex.split(collect)) == "collectstatic"
    probe = json.loads(last["HEALTHCHECK"].partition(" CMD ")[2])
    compile(probe[-1], "HEALTHCHECK", "exec")


def test_the_compose_file_starts_what_there_is_and_lets_it_end() -> None:
    services = compose()["services"]
    ours = {name: service for name, service in services.items() if service["image"] == "dtq"}
    started = {name: understand(service["command"]) for name, service in ours.items()}
    assert started == {"prepare": "migrate", "web": "runweb", "worker": "runworker", "scheduler": "runscheduler"}
    for name in ("web", "worker", "scheduler"):
        assert seconds(ours[name]["stop_grace_period"]) > STOPS_WITHIN_S[started[name]]
    assert understand(services["worker"]["healthcheck"]["test"][3:]) == "workerhealth"
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
    build = ours["web"]["build"]
    assert (DEPLOY / build["context"]).resolve() == PROJECT_DIR
    assert (PROJECT_DIR / build["dockerfile"]).is_file()


def test_the_compose_file_has_settings_that_hold_and_no_secret() -> None:
    given = compose()["services"]["web"]["environment"]
    secrets = {name: text for name, text in given.items() if re.search(r"KEY|PASSWORD|URL", name)}
    assert all(re.search(r"\$\{[A-Z_]+:\?\}", text) for text in secrets.values()), secrets
    env = {name: re.sub(r"\$\{[A-Z_]+:(\?|-(.*?))\}", lambda m: m[2] or "x" * 40 * (m[1] == "?"), text)
           for name, text in given.items()}  # fmt: skip
    assert site_from_env({name: text for name, text in env.items() if name.startswith(PREFIX)})[1] == []
    assert config_from_env(env).redis_url.endswith("@valkey:6379/0")
    server = compose()["services"]["valkey"]["command"]
    assert server[1:5] == ["--appendonly", "yes", "--maxmemory-policy", "noeviction"]
