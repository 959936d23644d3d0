"""Every key name of the queue, for Python and for the scripts (``docs/redis-keys.md`` lists what each holds)."""

from __future__ import annotations

GROUP = "workers"
"""The consumer group of every lane's stream."""

# Names of single keys, then openings of key families: what follows the opening is said beside it.
SINGLE = {
    "LEASES": "leases",
    "SCHEDULE": "retry:schedule",
    "CLAIMED": "retry:claimed",
    "DEAD_LETTERS": "stream:dead-letter",
    "AUDIT": "stream:audit",
    "CANCELLED": "cancelled",
    "WORKERS": "workers",
    "QUEUES": "queues",
    "TYPES": "types",
    "READY": "ready",
    "RUNNING": "running",
    "RETENTION": "retention",
    "FINGERPRINTS": "fingerprints",
    "KEYED": "index:idempotency",
    "LOCK": "lock:scheduler",
    "EVENTS": "events",
    "NOTHING": "nothing",  # never written
    "ROLLED": "stats:rolled",
    "COUNTED": "stats:counted",
    "TOTALS": "stats:totals",
    "SERIES": "stats:series",
    "REFUSED": "stats:refused",
    "API_KEYS": "api-keys",
    "OPERATIONS": "operations",
    "OPERATING": "operations:running",
}
FAMILY = {
    "STREAM": "stream:",  # <queue>:p<priority>
    "TASK": "task:",  # <id>
    "ATTEMPTS": "attempts:",  # <id>
    "LOG": "log:",  # <id>
    "IDEMPOTENCY": "idempotency:",  # <queue>:<key>
    "WORKER": "worker:",  # <worker id>
    "HANDED": "handed:",  # <worker id>
    "TOLD": "told:",  # <worker id>
    "CONTROL": "control:",  # <worker id>, a channel
    "QUEUE": "queue:",  # <queue>:paused
    "WAKE": "wake:",  # <queue>, * for workers of every queue, *<worker> for one
    "INDEX": "index:",  # <status>, <status>:q:<queue>, <status>:t:<type>, dead_lettered:f:<fingerprint>
    "FINGERPRINT": "fingerprint:",  # <fingerprint>
    "STATS": "stats:",  # m:<minute>, t:<ten minutes>, h:<hour>, all counted from the epoch
    "API_KEY": "api-key:",  # <name>
    "OPERATION": "operation:",  # <id>
    "DEMO_COUNTER": "demo:counter:",  # <counter>, of the demo handler "count"
}


class Keys:
    """Builds the names under one prefix, such as ``dtq`` or ``{dtq}``."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._single = {name: f"{prefix}:{rest}" for name, rest in SINGLE.items()}
        self._family = {name: f"{prefix}:{rest}" for name, rest in FAMILY.items()}

    def lua(self) -> str:
        """The same names as Lua locals, so that no script spells one itself."""
        names = {**self._single, **self._family}
        return "\n".join(f"local {name} = '{value}'" for name, value in names.items())

    @property
    def leases(self) -> str:
        return self._single["LEASES"]

    @property
    def schedule(self) -> str:
        return self._single["SCHEDULE"]

    @property
    def claimed(self) -> str:
        return self._single["CLAIMED"]

    @property
    def dead_letters(self) -> str:
        return self._single["DEAD_LETTERS"]

    @property
    def audit(self) -> str:
        return self._single["AUDIT"]

    @property
    def cancelled(self) -> str:
        return self._single["CANCELLED"]

    @property
    def workers(self) -> str:
        return self._single["WORKERS"]

    @property
    def queues(self) -> str:
        return self._single["QUEUES"]

    @property
    def types(self) -> str:
        return self._single["TYPES"]

    @property
    def ready(self) -> str:
        return self._single["READY"]

    @property
    def running(self) -> str:
        return self._single["RUNNING"]

    @property
    def retention(self) -> str:
        return self._single["RETENTION"]

    @property
    def fingerprints(self) -> str:
        return self._single["FINGERPRINTS"]

    @property
    def lock(self) -> str:
        return self._single["LOCK"]

    @property
    def events(self) -> str:
        """The pub/sub channel of lifecycle events."""
        return self._single["EVENTS"]

    def stream(self, queue: str, priority: int) -> str:
        return f"{self._family['STREAM']}{queue}:p{priority}"

    def lane(self, lane: str) -> str:
        """The stream of a lane ``<queue>:p<priority>``, as :attr:`ready` names it."""
        return self._family["STREAM"] + lane

    def task(self, task_id: str) -> str:
        return self._family["TASK"] + task_id

    def attempts(self, task_id: str) -> str:
        return self._family["ATTEMPTS"] + task_id

    def log(self, task_id: str) -> str:
        return self._family["LOG"] + task_id

    def idempotency(self, queue: str, key: str) -> str:
        return f"{self._family['IDEMPOTENCY']}{queue}:{key}"

    def worker(self, worker_id: str) -> str:
        return self._family["WORKER"] + worker_id

    def told(self, worker_id: str) -> str:
        """The wish that stands for one worker."""
        return self._family["TOLD"] + worker_id

    def control(self, worker_id: str) -> str:
        """The pub/sub channel on which one worker is told what to stop, and to look for a wish."""
        return self._family["CONTROL"] + worker_id

    def paused(self, queue: str) -> str:
        return f"{self._family['QUEUE']}{queue}:paused"

    def wake(self, queue: str) -> str:
        return self._family["WAKE"] + queue

    def index(self, status: str, *, queue: str | None = None, task_type: str | None = None) -> str:
        """The ids in ``status``: all of them, one queue's, or one type's (not both)."""
        if queue is not None:
            return f"{self._family['INDEX']}{status}:q:{queue}"
        if task_type is not None:
            return f"{self._family['INDEX']}{status}:t:{task_type}"
        return self._family["INDEX"] + status

    def dead_index(self, fingerprint: str) -> str:
        return f"{self._family['INDEX']}dead_lettered:f:{fingerprint}"

    def fingerprint(self, fingerprint: str) -> str:
        return self._family["FINGERPRINT"] + fingerprint

    def stats(self, grain: str, number: int) -> str:
        """``grain`` is m, t or h; ``number`` counts such spans from the epoch."""
        return f"{self._family['STATS']}{grain}:{number}"

    @property
    def rolled(self) -> str:
        """The last ten minutes (counted from the epoch) whose statistics are summed up."""
        return self._single["ROLLED"]

    @property
    def counted(self) -> str:
        """The last minute (counted from the epoch) that the totals hold."""
        return self._single["COUNTED"]

    @property
    def totals(self) -> str:
        return self._single["TOTALS"]

    @property
    def series(self) -> str:
        """The pairs ``<queue>|<type>`` with totals of their own."""
        return self._single["SERIES"]

    @property
    def refused(self) -> str:
        return self._single["REFUSED"]

    @property
    def api_keys(self) -> str:
        """The names of all API keys."""
        return self._single["API_KEYS"]

    def api_key(self, name: str) -> str:
        return self._family["API_KEY"] + name

    @property
    def operations(self) -> str:
        """The ids of all operations that are kept."""
        return self._single["OPERATIONS"]

    @property
    def operating(self) -> str:
        """The ids of those that run."""
        return self._single["OPERATING"]

    def operation(self, operation_id: str) -> str:
        return self._family["OPERATION"] + operation_id

    def demo_counter(self, name: str) -> str:
        return self._family["DEMO_COUNTER"] + name
