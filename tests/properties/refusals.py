"""Steps that the store must refuse, and that must leave every key as it was."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.properties.machine import Lifecycle
from tests.support.builders import ACTOR, make_submission
from tests.support.keyspace import dump

FORMER = "a-former-leader"
UNKNOWN = "0" * 32


class Refusals(Lifecycle):
    """The machine with these steps among the others."""

    @rule(data=st.data())
    def follow_a_former_leader(self, data: st.DataObject) -> None:
        """Whoever does not hold the lock moves nothing, whatever it still believes to have claimed."""
        self.run(self.stage.lead())
        claimed = [run.id for run in self.model.tasks.values() if run.claimed]
        ids = data.draw(st.sampled_from([claimed, list(self.model.tasks)])) if self.model.tasks else [UNKNOWN]
        before = dump(self.client, without=(self.keys.lock,))
        assert not self.run(self.stage.schedule.claim_due(FORMER, 10)).leading
        assert self.run(self.stage.schedule.requeue_claimed(FORMER, ids)) == 0
        assert self.run(self.stage.schedule.return_claims(FORMER, 0)) == 0
        assert not self.run(self.stage.schedule.sweep(FORMER))
        self.run(self.stage.schedule.resign(FORMER))
        assert not self.run(self.stage.schedule.lead("elsewhere", FORMER))
        assert dump(self.client, without=(self.keys.lock,)) == before

    @rule(queue=st.sampled_from("ab"), key=st.sampled_from("kl"))
    def submit_something_else_under_the_key(self, queue: str, key: str) -> None:
        if self.model.holder(queue, key):
            other = make_submission(queue=queue, idempotency_key=key, payload_json='{"else":1}')
            self.hears("IDEMPOTENCY_MISMATCH", lambda: self.stage.commands.submit(other))

    @rule()
    def ask_for_what_is_not_there(self) -> None:
        commands = self.stage.commands
        self.hears("NOT_FOUND", lambda: commands.cancel(UNKNOWN, ACTOR))
        self.hears("NOT_FOUND", lambda: commands.run_now(UNKNOWN, ACTOR))
        self.hears("NOT_FOUND", lambda: commands.dlq_requeue(UNKNOWN, ACTOR))
        self.hears("NOT_FOUND", lambda: commands.discard(UNKNOWN, ACTOR))
        self.hears("NOT_FOUND", lambda: commands.pause("nowhere", ACTOR))
        self.hears("NOT_FOUND", lambda: commands.resume("nowhere", ACTOR))
        self.hears("NOT_FOUND", lambda: commands.purge_queue("nowhere", ACTOR))
