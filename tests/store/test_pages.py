"""Lists of tasks: filters, search, and pages that neither skip nor repeat while tasks come and go."""

from __future__ import annotations

import pytest

from tasks_app.domain.errors import InvalidCursor
from tasks_app.domain.snapshot import TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task
from tasks_app.store.cursor import ENTRY, decode_cursor, encode_cursor
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_submission
from tests.support.stage import OTHER_WORKER, Stage

EVERYTHING = TaskFilter()


def walk(queries: Queries, where: TaskFilter = EVERYTHING, limit: int = 7) -> list[str]:
    """Every id of a list, page by page."""
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = queries.tasks(where, cursor, limit)
        assert len(page.items) <= limit
        seen += [row.id for row in page.items]
        cursor = page.next
        if cursor is None:
            return seen


def bulk(stage: Stage, count: int, **overrides: object) -> list[str]:
    replies = stage.commands.submit_many([make_submission(**overrides)] * count)
    return [reply.task.id for reply in replies]  # type: ignore[union-attr]


class TestWalking:
    @pytest.mark.parametrize("count", [0, 1, 7, 8, 14, 50])
    async def test_newest_first_each_once(self, stage: Stage, queries: Queries, count: int) -> None:
        ids = bulk(stage, count) if count else []
        assert walk(queries) == sorted(ids, reverse=True)

    async def test_all_statuses_merge_into_one_order(self, stage: Stage, queries: Queries) -> None:
        ids = [task_id for queue in "abc" for task_id in (await stage.one_of_each(queue=queue)).values()]
        assert walk(queries, limit=4) == sorted(ids, reverse=True)

    async def test_tasks_that_come_do_not_move_the_pages(self, stage: Stage, queries: Queries) -> None:
        ids = bulk(stage, 20)
        first = queries.tasks(TaskFilter(), limit=10)
        bulk(stage, 15)
        second = queries.tasks(TaskFilter(), first.next, limit=10)
        assert [row.id for row in (*first.items, *second.items)] == sorted(ids, reverse=True)

    async def test_tasks_that_change_are_seen_once(self, stage: Stage, queries: Queries) -> None:
        ids = bulk(stage, 20)
        first = queries.tasks(TaskFilter(), limit=10)
        for row in first.items[:3]:
            stage.commands.cancel(row.id, ACTOR)
        await stage.claim(limit=5)
        second = queries.tasks(TaskFilter(), first.next, limit=10)
        assert [row.id for row in (*first.items, *second.items)] == sorted(ids, reverse=True)

    async def test_a_set_that_empties_gives_an_empty_page(self, stage: Stage, queries: Queries) -> None:
        ids = bulk(stage, 20)
        where = TaskFilter(status=TaskStatus.QUEUED)
        first = queries.tasks(where, limit=10)
        stage.commands.cancel_many(ids, ACTOR)
        assert queries.tasks(where, first.next, limit=10).items == []

    def test_a_page_has_no_large_fields(self, stage: Stage, queries: Queries) -> None:
        stage.submit(payload_json='{"n":1}', metadata_json='{"m":1}')
        [row] = queries.tasks(TaskFilter()).items
        assert isinstance(row, Task)
        assert (row.payload_json, row.metadata_json, row.result_json, row.traceback) == (None, None, None, None)

    def test_rows_by_id_keep_their_order_and_leave_out_what_is_gone(self, stage: Stage, queries: Queries) -> None:
        ids = bulk(stage, 3)
        assert [row.id for row in queries.rows([ids[2], "0" * 32, ids[0]])] == [ids[2], ids[0]]
        assert queries.rows([]) == []


class TestFilters:
    async def test_each_field_narrows(self, stage: Stage, queries: Queries) -> None:
        mail = await stage.one_of_each(queue="mail", task_type="send")
        other = await stage.one_of_each(queue="other", task_type="noop")
        assert set(walk(queries, TaskFilter(queue="mail"))) == set(mail.values())
        assert set(walk(queries, TaskFilter(task_type="noop"))) == set(other.values())
        assert set(walk(queries, TaskFilter(queue="mail", task_type="send"))) == set(mail.values())
        assert walk(queries, TaskFilter(queue="mail", task_type="noop")) == []
        for status in TaskStatus:
            assert set(walk(queries, TaskFilter(status=status))) == {mail[status], other[status]}
            assert walk(queries, TaskFilter(status=status, queue="mail")) == [mail[status]]
            assert walk(queries, TaskFilter(status=status, task_type="noop")) == [other[status]]
            assert walk(queries, TaskFilter(status=status, queue="mail", task_type="noop")) == []

    async def test_by_worker(self, stage: Stage, queries: Queries) -> None:
        one = await stage.running()
        two = await stage.running(OTHER_WORKER)
        await stage.finish(one, TaskStatus.SUCCEEDED)
        stage.submit()
        assert walk(queries, TaskFilter(worker_id="w1")) == [one.id]
        assert walk(queries, TaskFilter(worker_id="w2", status=TaskStatus.RUNNING)) == [two.id]

    def test_by_birth(self, stage: Stage, queries: Queries) -> None:
        [task_id] = bulk(stage, 1)
        born = queries.task(task_id).created_at
        assert walk(queries, TaskFilter(created_after=born)) == [task_id]
        assert walk(queries, TaskFilter(created_after=born + 1)) == []
        assert walk(queries, TaskFilter(created_before=born)) == []
        assert walk(queries, TaskFilter(created_before=born + 1)) == [task_id]
        assert walk(queries, TaskFilter(created_after=born, created_before=born + 1)) == [task_id]
        assert walk(queries, TaskFilter(created_after=-5, created_before=-1)) == []

    async def test_running_tasks_of_a_queue_among_many(self, stage: Stage, queries: Queries) -> None:
        wanted = [(await stage.running(queue="mail")).id for _ in range(3)]
        for _ in range(10):
            await stage.running(queue="other")
        assert walk(queries, TaskFilter(status=TaskStatus.RUNNING, queue="mail"), limit=2) == sorted(
            wanted, reverse=True
        )

    async def test_a_search_that_finds_nothing_for_long_goes_on_from_where_it_stopped(
        self, stage: Stage, queries: Queries
    ) -> None:
        needle = (await stage.running()).id
        for _ in range(3):
            bulk(stage, 750)
        where = TaskFilter(worker_id="w1")
        first = queries.tasks(where, limit=5)
        assert first.items == [] and first.next is not None
        assert walk(queries, where) == [needle]


class TestSearch:
    @pytest.fixture
    async def tasks(self, stage: Stage) -> dict[str, str]:
        keys = ["order 42", "42", "deadbeef", "0" * 32, "f" * 32, "01", "a/b:c"]
        return {key: stage.submit(idempotency_key=key) for key in keys}

    async def test_by_id(self, queries: Queries, tasks: dict[str, str]) -> None:
        for task_id in tasks.values():
            dashed = f"{task_id[:8]}-{task_id[8:12]}-{task_id[12:16]}-{task_id[16:20]}-{task_id[20:]}"
            for q in (task_id, task_id.upper(), dashed):
                assert walk(queries, TaskFilter(q=q)) == [task_id]

    async def test_by_the_start_of_an_id(self, queries: Queries, tasks: dict[str, str]) -> None:
        for task_id in tasks.values():
            assert walk(queries, TaskFilter(q=task_id[:31])) == [task_id]
            assert task_id in walk(queries, TaskFilter(q=task_id[:8]))
            assert walk(queries, TaskFilter(q=task_id[:8]), limit=2) == sorted(tasks.values(), reverse=True)

    async def test_by_idempotency_key(self, queries: Queries, tasks: dict[str, str]) -> None:
        for key, task_id in tasks.items():
            assert walk(queries, TaskFilter(q=key)) == [task_id]
            assert walk(queries, TaskFilter(q=key, queue="default")) == [task_id]
            assert walk(queries, TaskFilter(q=key, queue="mail")) == []
            assert walk(queries, TaskFilter(q=key, status=TaskStatus.SUCCEEDED)) == []

    async def test_a_key_used_in_two_queues_finds_both(self, stage: Stage, queries: Queries) -> None:
        both = [stage.submit(idempotency_key="k", queue=queue) for queue in ("a", "b")]
        assert walk(queries, TaskFilter(q="k")) == sorted(both, reverse=True)

    @pytest.mark.parametrize("q", ["nothing", "ffff", "e" * 32, "z", "%", "漢", "-", "{"])
    async def test_nothing_found(self, queries: Queries, tasks: dict[str, str], q: str) -> None:
        assert walk(queries, TaskFilter(q=q)) == []

    def test_nothing_to_find(self, queries: Queries) -> None:
        assert walk(queries, TaskFilter(q="k")) == []

    @pytest.mark.parametrize("text", ["{", "[]", "7", '{"task_id":7}', "{}"])
    def test_a_damaged_key_finds_nothing(self, stage: Stage, queries: Queries, text: str) -> None:
        stage.submit()
        stage.client.set(stage.keys.idempotency("default", "k"), text, ex=60)
        assert walk(queries, TaskFilter(q="k")) == []


class TestCursors:
    @pytest.mark.parametrize("place", ["01a2289cc18e7000bd777d2475833832", "0"])
    def test_they_come_back(self, place: str) -> None:
        assert decode_cursor(encode_cursor(place)) == place

    def test_those_of_streams_come_back(self) -> None:
        assert decode_cursor(encode_cursor("1795977693179-0"), ENTRY) == "1795977693179-0"

    @pytest.mark.parametrize("cursor", ["", "x", "-", "=", "AAAA", "漢", "\ud800", "a" * 10_000, "c0ffee", "MDA9"])
    def test_others_are_refused(self, queries: Queries, cursor: str) -> None:
        for ask in (
            lambda: decode_cursor(cursor),
            lambda: queries.tasks(TaskFilter(), cursor or "?"),
            lambda: queries.dead_letters(cursor or "?"),
            lambda: queries.dead_letters(cursor or "?", fingerprint="f00"),
            lambda: queries.audit(cursor or "?"),
        ):
            with pytest.raises(InvalidCursor):
                ask()

    def test_a_changed_one_is_refused(self) -> None:
        cursor = encode_cursor("01a2289cc18e7000bd777d2475833832")
        for i, letter in enumerate(cursor[:-1]):
            with pytest.raises(InvalidCursor):
                decode_cursor(cursor[:i] + ("A" if letter != "A" else "B") + cursor[i + 1 :])

    def test_one_of_another_list_is_refused(self) -> None:
        with pytest.raises(InvalidCursor):
            decode_cursor(encode_cursor("1795977693179-0"))
        with pytest.raises(InvalidCursor):
            decode_cursor(encode_cursor("0" * 32), ENTRY)

    @pytest.mark.parametrize("first", "0123456789abcdef")
    def test_no_shell_takes_one_for_an_option(self, first: str) -> None:
        assert encode_cursor(first * 32)[0].isalpha()
