"""The world of one schedule: its processes, the calls on the table, and the seeded choice of what happens next."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from redis.exceptions import ConnectionError, RedisError, ResponseError, TimeoutError

from tasks_app.domain.config import Config
from tasks_app.store.keys import GROUP, Keys
from tests.chaos.clock import Clock
from tests.chaos.faults import Fault, Faults
from tests.chaos.oracle import Oracle
from tests.chaos.people import QUEUES
from tests.chaos.process import Disturbance, Process
from tests.chaos.server import Server
from tests.chaos.tasks import Ledger
from tests.chaos.trace import Trace
from tests.chaos.wire import SOCKET_TIMEOUT_S, Call

LATENCY_US = (30, 500)
DAWDLES = 0.03
"""How often time passes although something is on the table."""
FREEZES_S = (0.3, 2.0, 5.5, 8.0, 14.0)
OUTAGES_S = (0.1, 1.0, 6.0)
PRIORITIES = (1, 5, 9)


@dataclass
class Role:
    """A place that is filled again when its process has ended. ``begin`` starts one under a name."""

    name: str
    begin: Callable[[str], Process]
    lives: int = 0
    vacant_until: float | None = 0.0


@dataclass
class World:
    """Moves by ``step``: a call is carried out, or time passes."""

    seed: int
    server: Server
    clock: Clock
    config: Config
    roles: list[Role] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.keys = Keys(self.config.key_prefix)
        self.faults = Faults(self.rng)
        self.trace = Trace()
        self.oracle = Oracle(self.config.lease_ms, self.blame, self.disturbances)
        self.ledger = Ledger(self.oracle.began)
        self.closing = False
        self.groups_lost = self.streams_lost = False
        self._blows: dict[str, list[Disturbance]] = {}
        self._calls: list[Call] = []
        self._late: list[tuple[float, Call]] = []
        self._down_until = 0.0

    # --- what processes see

    def put(self, call: Call) -> None:
        call.put_at = self.clock.now
        self._calls.append(call)

    def blame(self, what: str) -> None:
        self.failures.append(what)
        self.trace.note(self.clock, f"FAILURE: {what}")

    def disturbances(self, name: str) -> list[Disturbance]:
        return self._blows.get(name, [])

    # --- moving

    def run(self, fact: Callable[[], bool], at_most_s: float) -> bool:
        """Step until ``fact`` is true; false when ``at_most_s`` were not enough."""
        deadline = self.clock.now + at_most_s
        while not fact():
            if self.clock.now >= deadline or len(self.failures) > 5:
                return False
            self.step()
        return True

    def step(self) -> None:
        self._fill_roles()
        self._settle()
        ready = [call for call in self._calls if call.arrived or not call.caller.frozen]
        if ready and self.rng.random() >= DAWDLES:
            call = ready[self.rng.randrange(len(ready))]
            self._calls.remove(call)
            self.clock.go_on(self.rng.randint(*LATENCY_US))
            self._handle(call)
        else:
            self._let_time_pass()

    def calm_down(self) -> None:
        """No faults from now on; whoever was frozen or away comes back."""
        self.faults.calm = True
        self._down_until = 0.0
        for process in self.processes:
            process.frozen_until = 0.0
        for role in self.roles:
            role.vacant_until = None if role.vacant_until is None else 0.0

    @property
    def late_calls(self) -> int:
        return len(self._late)

    def _fill_roles(self) -> None:
        now = self.clock.now
        for role in self.roles:
            if role.vacant_until is not None and role.vacant_until <= now and not self.closing:
                role.lives += 1
                role.vacant_until = None
                process = role.begin(f"{role.name}.{role.lives}")
                self._blows[process.name] = process.disturbances
                self.processes.append(process)

    def _settle(self) -> None:
        ran = True
        while ran:
            ran = False
            for process in self.processes:
                if not process.frozen and process.turn():
                    ran = True
        for process in [process for process in self.processes if process.ended]:
            process.bury()
            self._gone(process, self.rng.uniform(0, 3))

    def _gone(self, process: Process, for_s: float) -> None:
        self.processes.remove(process)
        self._calls = [call for call in self._calls if call.caller is not process]
        self.server.forget(process)
        for role in self.roles:
            if role.name == process.role and not (process.finished_for_good):
                role.vacant_until = self.clock.now + for_s

    def _let_time_pass(self) -> None:
        now = self.clock.now
        moments = [process.next_event for process in self.processes]
        moments += [role.vacant_until for role in self.roles]
        moments += [moment for moment, _ in self._late] + [parked.until for parked in self.server.parked]
        ahead = [moment for moment in moments if moment is not None and moment > now]
        self.clock.reach(min([*ahead, now + 1.0]))
        now = self.clock.now
        for moment, call in [late for late in self._late if late[0] <= now]:
            self._late.remove((moment, call))
            call.caller.disturbed(Fault.LATE)
            self._carry_out(call, "arrives late", deliver=False)
        self.server.time_out()

    # --- one call

    def _handle(self, call: Call) -> None:
        caller = call.caller
        if caller.frozen:  # and is given tasks all the same, by a call that was at the server before
            caller.disturbed(Fault.FREEZE)
        if call.left():
            if not call.command.waits and self.rng.random() < 0.5:
                self._carry_out(call, "nobody waits for it", deliver=False)
            return
        if self.clock.now < self._down_until:
            caller.disturbed(Fault.OUTAGE)
            self._fail(call, ConnectionError("down"), Fault.OUTAGE)
            return
        if self.clock.now > call.put_at + SOCKET_TIMEOUT_S:
            caller.disturbed("timeout")
            if self.rng.random() < 0.5:
                self._carry_out(call, "times out", deliver=False)
            self._fail(call, TimeoutError("no answer"), "timeout")
            return
        fault = self.faults.draw(self.server.name(call.command))
        if fault is None:
            self._carry_out(call)
        else:
            self._strike(fault, call)

    def _strike(self, fault: Fault, call: Call) -> None:
        caller = call.caller
        match fault:
            case Fault.LOST_REQUEST:
                caller.disturbed(fault)
                self._fail(call, ConnectionError("lost"), fault)
            case Fault.LOST_REPLY:
                caller.disturbed(fault)
                self._carry_out(call, fault, deliver=False)
                self._fail(call, ConnectionError("lost"), fault)
            case Fault.LATE:
                caller.disturbed(fault)
                if not call.command.waits:
                    self._late.append((self.clock.now + self.rng.uniform(0, 12), call))
                self._fail(call, TimeoutError("no answer"), fault)
            case Fault.CRASH_BEFORE | Fault.CRASH_AFTER:
                if fault is Fault.CRASH_AFTER:
                    self._carry_out(call, fault, deliver=False)
                else:
                    self.trace.call(self.clock, call, self.server.name(call.command), fault)
                caller.kill()
                self._gone(caller, self.rng.uniform(0, 8))
            case Fault.FREEZE:
                caller.disturbed(fault)
                caller.frozen_until = self.clock.now + self.rng.choice(FREEZES_S)
                if self.rng.random() < 0.5:
                    self._carry_out(call, fault)
                else:
                    self.trace.call(self.clock, call, self.server.name(call.command), fault)
                    self._calls.append(call)
            case Fault.STOP:
                self.trace.call(self.clock, call, self.server.name(call.command), fault)
                caller.stop()
                self._calls.append(call)
            case _:
                self._strike_the_server(fault)
                self._carry_out(call, fault)

    def _strike_the_server(self, fault: Fault) -> None:
        match fault:
            case Fault.OUTAGE:
                self._down_until = self.clock.now + self.rng.choice(OUTAGES_S)
                self.server.lose_scripts()
                self.server.hang_up(fault)
            case Fault.SCRIPTS_LOST:
                self.server.lose_scripts()
            case Fault.GROUP_LOST | Fault.STREAM_LOST:
                stream = self.keys.stream(self.rng.choice(QUEUES), self.rng.choice(PRIORITIES))
                if self.server.send("EXISTS", stream):
                    self.groups_lost = True
                    if fault is Fault.STREAM_LOST:
                        self.streams_lost = True
                        self.server.send("DEL", stream)
                    else:
                        self.server.send("XGROUP", "DESTROY", stream, GROUP)

    def _fail(self, call: Call, error: RedisError, why: str) -> None:
        self.trace.call(self.clock, call, self.server.name(call.command), why)
        call.deliver(None, error)

    def _carry_out(self, call: Call, why: str = "", *, deliver: bool = True) -> None:
        self.trace.call(self.clock, call, self.server.name(call.command), why)
        if call.command.waits:
            if deliver:
                self.server.park(call)
            return
        reply, error = None, None
        try:
            reply = self.server.carry_out(call.command)
        except ResponseError as refused:
            error = refused
        self.trace.reply(error or reply)
        if error is None and call.command.is_script:
            self.oracle.saw(self.server.name(call.command), call.command.words[4:], reply, self.clock.server_ms)
        if deliver:
            call.deliver(reply, error)
