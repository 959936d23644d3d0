"""Django's database connections: a dead one is never met by the next task, and none are left behind."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import Fleet


def test_database_tasks_run_and_leave_no_connections(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    sqlite3.connect(tmp_path / "data" / "site.sqlite3").close()
    worker = fleet.worker(concurrency=4)
    ids = fleet.submit_many(100, "database") + fleet.submit_many(100, "database_async")
    fleet.wait_for(ids, TaskStatus.SUCCEEDED)
    assert {fleet.task(task_id).result_json for task_id in ids} == {"42"}
    open_files = [os.readlink(entry) for entry in Path(f"/proc/{worker.pid}/fd").iterdir() if entry.is_symlink()]
    assert not [name for name in open_files if name.endswith("site.sqlite3")]
