"""Every operation of the OpenAPI document under requests made from it, good and bad, alone and one after the other."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.api.document import document

if TYPE_CHECKING:
    import redis

    from tests.browser.site import Site

SETTINGS = Path(__file__).with_name("schemathesis.toml")
BUDGET_S = 45
KEY = "k3y-0123456789abcdef"


@pytest.mark.real_redis
@pytest.mark.timeout(180)
def test_no_generated_request_breaks_the_api(
    make_site: Callable[..., Site], redis_client: redis.Redis, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_site(api_key=KEY, max_queues="100")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(SETTINGS), "run"),
            *(f"{site.origin}/api/schema/?format=json", "--header", f"X-API-Key:{KEY}"),
            *("--max-time", str(BUDGET_S), "--no-color"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    operations = sum(len(path) for path in document().schema["paths"].values()) - 1  # without the event stream
    assert f"Tested: {operations}" in run.stdout
    generated = re.search(r"(\d+) generated", run.stdout)
    assert generated is not None and int(generated[1]) > 300, run.stdout
    assert "REQUEST_FAILED" not in site.log()
    with capsys.disabled():
        print(f"\n{operations} operations, {generated[1]} requests, 0 failures")
