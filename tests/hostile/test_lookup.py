"""A task type is a name that is looked up: nothing is imported, evaluated or unpickled because of what a task says."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.handlers.registry import Registry
from tests.architecture.sources import PRODUCT, files, name, tree

if TYPE_CHECKING:
    from tests.process.fleet import Fleet

NAMES = ["os.system", "subprocess:run", "antigravity", "tests.hostile.trap", "tests.hostile.trap:sprung", "__import__"]
_EVALUATING = {"eval", "exec", "compile", "__import__", "import_module", "import_string", "find_spec"}
_UNPICKLING = {"pickle", "marshal", "shelve", "dill"}
ALLOWED = {
    # The operator's own settings name these modules.
    "tasks_app/runtime.py": {"import_module", "find_spec"},
    # Where packages keep their files; they are not imported.
    "dtq_site/settings.py": {"find_spec"},
    "workers/embedded.py": {"find_spec"},
    # Django's own setting names the kind of sessions.
    "tasks_app/console/listening.py": {"import_module"},
    # Redis' command, with scripts of ours.
    "tasks_app/store/scripts.py": {"eval"},
    # A worker and its own guard talk over a socket that nobody else has.
    "workers/engine/guard.py": {"pickle"},
    "workers/engine/guard_process.py": {"pickle"},
}


@pytest.mark.parametrize("task_type", NAMES)
def test_a_name_of_python_is_no_task_type(task_type: str) -> None:
    before = set(sys.modules)
    registry = Registry()
    assert registry.get(task_type) is None
    assert registry.defaults(task_type) is not None
    assert set(sys.modules) == before


@pytest.mark.real_redis
def test_a_worker_buries_what_it_does_not_know_and_imports_nothing(fleet: Fleet) -> None:
    ids = [fleet.submit(task_type, '{"args":["touch","sprung"],"__class__":"os.system"}') for task_type in NAMES]
    fleet.worker()
    fleet.wait_for(ids, TaskStatus.DEAD_LETTERED)
    assert {fleet.task(task_id).error_class for task_id in ids} == {"UnknownTaskType"}
    assert not fleet.client.exists("sprung")


def test_no_code_of_ours_evaluates_what_it_is_given() -> None:
    found: dict[str, set[str]] = {}
    for path in files(*PRODUCT, suffix=".py"):
        if names := set(_called(tree(path))):
            found[name(path)] = names
    assert found == ALLOWED


def _called(module: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            owner = getattr(function.value, "id", "") if isinstance(function, ast.Attribute) else ""
            if called in _EVALUATING and owner != "re":
                names.append(called)
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name in _UNPICKLING]
    return names
