"""What must hold whenever no script is running: the record is the truth, and everything else agrees with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tasks_app.domain.status import TaskStatus
from tasks_app.store.keys import GROUP, Keys
from tests.support.keyspace import RawClient, documented, pending

SCHEDULED = {"pending", "retrying"}
BELLS = 4


@dataclass
class Entry:
    """A stream entry of a lane. ``consumer`` is ``None`` while it is undelivered."""

    lane: str
    id: str
    task_id: str
    consumer: str | None


@dataclass
class Picture:
    """The whole queue as read from Redis."""

    keys: Keys
    tasks: dict[str, dict[str, str]]
    ttl: dict[str, int]
    kinds: dict[str, str]
    index: dict[str, set[str]]
    entries: list[Entry] = field(default_factory=list)

    def members(self, key: str) -> set[str]:
        return self.index.get(key, set())


def check(client: RawClient, keys: Keys, *, damaged: set[str] | None = None, groups_lost: bool = False) -> None:
    """Check every invariant; ids in ``damaged`` were planted broken, so their records prove nothing.

    After ``groups_lost`` a running task's entry may be pending on whoever read it from the group that was made anew.

    Raises:
        AssertionError: names what disagrees.
    """
    picture = take(client, keys)
    problems = [
        *_keys_have_an_end(client, picture, damaged or set()),
        *_records(picture, damaged or set()),
        *_indexes(picture, damaged or set()),
        *_streams(picture, damaged or set(), groups_lost),
        *_lanes_and_counts(client, picture, damaged or set()),
        *_dead_letters(client, picture, damaged or set()),
    ]
    assert not problems, "\n".join(problems)


def take(client: RawClient, keys: Keys) -> Picture:
    """Read the queue's keys, in three round trips and a few per lane."""
    names = sorted(raw.decode(errors="backslashreplace") for raw in client.keys(f"{keys.prefix}:*"))
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.type(name).pttl(name)
    facts = pipe.execute()
    picture = Picture(
        keys,
        tasks={},
        ttl=dict(zip(names, facts[1::2], strict=True)),
        kinds={name: kind.decode() for name, kind in zip(names, facts[::2], strict=True)},
        index={},
    )
    _read_values(client, picture)
    lane_name = re.compile(re.escape(keys.stream("", 0)[:-3]) + r"(.+:p\d)")
    for name, kind in picture.kinds.items():
        lane = lane_name.fullmatch(name)
        if lane and kind == "stream":
            _read_lane(client, picture, name, lane[1])
    return picture


def _read_values(client: RawClient, picture: Picture) -> None:
    opening = picture.keys.task("")
    records = [name for name, kind in picture.kinds.items() if kind == "hash" and name.startswith(opening)]
    zsets = [name for name, kind in picture.kinds.items() if kind == "zset"]
    sets = [name for name, kind in picture.kinds.items() if kind == "set"]
    pipe = client.pipeline(transaction=False)
    for name in records:
        pipe.hgetall(name)
    for name in zsets:
        pipe.zrange(name, 0, -1)
    for name in sets:
        pipe.smembers(name)
    replies = pipe.execute()
    for name, fields in zip(records, replies, strict=False):
        picture.tasks[name.removeprefix(opening)] = {
            k.decode(errors="replace"): v.decode(errors="replace") for k, v in fields.items()
        }
    for name, members in zip([*zsets, *sets], replies[len(records) :], strict=True):
        picture.index[name] = {raw.decode() for raw in members}


def _read_lane(client: RawClient, picture: Picture, stream: str, lane: str) -> None:
    groups = client.xinfo_groups(stream)
    owners = pending(client, stream, GROUP) if groups else {}
    delivered = _order(groups[0]["last-delivered-id"].decode()) if groups else (0, 0)
    for raw, fields in client.xrange(stream):
        entry = raw.decode()
        consumer = owners.get(entry)
        if consumer is None and groups and _order(entry) <= delivered:
            consumer = ""  # acknowledged, yet not deleted
        picture.entries.append(Entry(lane, entry, fields.get(b"task_id", b"").decode(), consumer))


def _order(entry: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entry.split("-"))


def _keys_have_an_end(client: RawClient, p: Picture, damaged: set[str]) -> Iterator[str]:
    rows = documented()
    for name, ttl in p.ttl.items():
        if name.rsplit(":", 1)[-1] in damaged:
            continue
        plain = "dtq:" + name.removeprefix(f"{p.keys.prefix}:")
        row = next((row for row in rows if row.matches(plain)), None)
        if row is None:
            yield f"{name} is not in docs/redis-keys.md"
            continue
        if p.kinds[name] != row.kind:
            yield f"{name} is a {p.kinds[name]}, documented as {row.kind}"
        if row.ends.startswith("TTL") and ttl < 0:
            yield f"{name} has no TTL"
        if row.ends.startswith("with its task"):
            owner = p.tasks.get(name.rsplit(":", 1)[-1])
            if owner is None:
                yield f"{name} outlives its task"
            elif (ttl < 0) == TaskStatus(owner["status"]).is_terminal:
                yield f"{name} has TTL {ttl}, its task is {owner['status']}"
    for name in p.kinds:
        if name.startswith(p.keys.wake("")) and (tokens := client.llen(name)) > BELLS:
            yield f"{name} has {tokens} tokens"


def _records(p: Picture, damaged: set[str]) -> Iterator[str]:
    retained = {token.split("@")[0] for member in p.members(p.keys.retention) for token in member.split(" ")[3:]}
    for task_id, task in p.tasks.items():
        if task_id in damaged:
            continue
        status = TaskStatus(task["status"])
        ttl = p.ttl[p.keys.task(task_id)]
        if status.is_terminal and ttl < 0:
            yield f"{task_id} is {status} and never expires"
        if status.is_terminal and task_id not in retained:
            yield f"{task_id} is {status} and retention does not know it"
        if not status.is_terminal and ttl >= 0:
            yield f"{task_id} is {status} and would expire in {ttl} ms"
        if not 1 <= int(task["attempt"]) <= int(task["max_attempts"]):
            yield f"{task_id} is at attempt {task['attempt']} of {task['max_attempts']}"
        if (task_id in p.members(p.keys.leases)) != (status is TaskStatus.RUNNING):
            yield f"{task_id} is {status}, its lease says otherwise"
        places = sum(task_id in p.members(key) for key in (p.keys.schedule, p.keys.claimed))
        if places != (status in SCHEDULED):
            yield f"{task_id} is {status} and stands in {places} schedules"


def _indexes(p: Picture, damaged: set[str]) -> Iterator[str]:
    k = p.keys
    expected: dict[str, set[str]] = {}
    running: Counter[str] = Counter()
    for task_id, task in p.tasks.items():
        if task_id in damaged:
            continue
        status, queue, task_type = task["status"], task["queue"], task["task_type"]
        if status == "running":
            running.update([f"q:{queue}", f"t:{task_type}"])
            expected.setdefault(k.leases, set()).add(task_id)
        else:
            for key in (k.index(status), k.index(status, queue=queue), k.index(status, task_type=task_type)):
                expected.setdefault(key, set()).add(task_id)
        if queue not in p.members(k.queues):
            yield f"queue {queue} of {task_id} is not among the queues"
        if not TaskStatus(status).is_terminal and task_type not in p.members(k.types):
            yield f"type {task_type} of {task_id} is not among the types"
    opened = tuple(k.index(status) for status in TaskStatus)
    for key in {name for name in p.index if name.startswith(opened)} | {k.leases} | set(expected):
        if key.startswith(k.dead_index("")):
            continue
        if (found := p.members(key) - damaged) != expected.get(key, set()):
            yield f"{key} holds {sorted(found)}, the records say {sorted(expected.get(key, set()))}"
    for key in (k.schedule, k.claimed):
        if lost := p.members(key) - set(p.tasks) - damaged:
            yield f"{key} holds {sorted(lost)}, which are no tasks"


def _streams(p: Picture, damaged: set[str], groups_lost: bool) -> Iterator[str]:
    found: dict[str, list[Entry]] = {}
    for entry in p.entries:
        found.setdefault(entry.task_id, []).append(entry)
        if entry.consumer == "":
            yield f"entry {entry.id} of {entry.lane} is acknowledged and still there"
        if entry.task_id not in p.tasks and entry.task_id not in damaged:
            yield f"entry {entry.id} of {entry.lane} is of no task: {entry.task_id!r}"
    for task_id, task in p.tasks.items():
        if task_id not in damaged and (problem := _entries_of(task, found.get(task_id, []), groups_lost)):
            yield f"{task_id} is {task['status']}; {problem}"


def _entries_of(task: dict[str, str], mine: list[Entry], groups_lost: bool) -> str | None:
    lane = f"{task['queue']}:p{task['priority']}"
    if task["status"] not in {"queued", "running"}:
        return f"it has entries {[entry.id for entry in mine]}" if mine else None
    if [(entry.lane, entry.id) for entry in mine] != [(lane, task.get("entry"))]:
        return f"its entry is {task.get('entry')} in {lane}; found {mine}"
    if groups_lost and task["status"] == "running":
        return None
    owners = {None} if task["status"] == "queued" else {None, task["worker_id"]}
    return None if mine[0].consumer in owners else f"its entry is pending on {mine[0].consumer}, not on {owners}"


def _lanes_and_counts(client: RawClient, p: Picture, damaged: set[str]) -> Iterator[str]:
    # Where a group was lost, the entries of running tasks are undelivered as well: nobody need look at those.
    waiting = {entry.lane for entry in p.entries if p.tasks.get(entry.task_id, {}).get("status") == "queued"}
    if silent := waiting - p.members(p.keys.ready):
        yield f"lanes {sorted(silent)} have undelivered entries and are not ready"
    counts = {f.decode(): int(n) for f, n in client.hgetall(p.keys.running).items() if int(n)}
    running: Counter[str] = Counter()
    for task_id, task in p.tasks.items():
        if task_id not in damaged and task["status"] == "running":
            running.update([f"q:{task['queue']}", f"t:{task['task_type']}"])
    if counts != running and not damaged:
        yield f"running counts are {counts}, the records say {dict(running)}"


def _dead_letters(client: RawClient, p: Picture, damaged: set[str]) -> Iterator[str]:
    k = p.keys
    entries = {raw.decode(): f[b"task_id"].decode() for raw, f in client.xrange(k.dead_letters)}
    groups: dict[str, set[str]] = {}
    for task_id, task in p.tasks.items():
        if task_id in damaged or task["status"] != "dead_lettered":
            continue
        groups.setdefault(task["fingerprint"], set()).add(task_id)
        if entries.pop(task["dlq_entry"], None) != task_id:
            yield f"{task_id} is dead and its entry {task['dlq_entry']} is not in the stream"
    if rest := {entry: task_id for entry, task_id in entries.items() if task_id not in damaged}:
        yield f"dead-letter entries without a dead task: {rest}"
    prefix = k.dead_index("")
    indexed = {name.removeprefix(prefix): ids for name, ids in p.index.items() if name.startswith(prefix)}
    if {name: ids - damaged for name, ids in indexed.items() if ids - damaged} != groups:
        yield f"fingerprint indexes are {indexed}, the records say {groups}"
    if p.members(k.fingerprints) != set(indexed):
        yield f"fingerprints are {sorted(p.members(k.fingerprints))}, indexed are {sorted(indexed)}"
    described = {name.removeprefix(k.fingerprint("")) for name in p.kinds if name.startswith(k.fingerprint(""))}
    if described != set(indexed):
        yield f"described fingerprints are {sorted(described)}, indexed are {sorted(indexed)}"
