"""A payload and a result are the same JSON text at every hop."""

from __future__ import annotations

from tasks_app.domain.status import TaskStatus
from tests.api.client import Api
from tests.api.hand import Hand

PAYLOAD = (
    '{"a":[9007199254740993,9223372036854775807,1000000000000000000000000000000,-0.1,0.1,1e-07,[],{},[[]],'
    '{"1":1},"\u2028","漢🙂","\\"\\\\/","\\u0001"],"":null,"<script>":true}'
)


def payload_in(text: str) -> str:
    """The payload's text as it stands in an answer."""
    start = text.index('"payload":') + len('"payload":')
    return text[start : start + len(PAYLOAD)]


def test_a_payload_is_the_same_text_through_retry_dead_letter_requeue_and_success(api: Api, hand: Hand) -> None:
    raw = f'{{"task_type":"echo","payload":{PAYLOAD},"metadata":{{"big":{10**30}}}}}'.encode()
    answer = api.send("tasks", raw)
    task_id = answer.body["id"]
    assert payload_in(answer.text) == PAYLOAD
    hand.fail(TaskStatus.RETRYING, delay_ms=60_000)
    assert payload_in(api.get(f"tasks/{task_id}").text) == PAYLOAD
    api.post(f"tasks/{task_id}/run-now")
    [claimed] = hand.claim()
    assert claimed.payload_json == PAYLOAD
    api.post(f"tasks/{task_id}/cancel")


def test_requeueing_a_dead_task_changes_no_byte(api: Api, hand: Hand) -> None:
    raw = f'{{"task_type":"echo","payload":{PAYLOAD},"metadata":{{"big":{10**30},"none":[]}}}}'.encode()
    task_id = api.send("tasks", raw).body["id"]
    hand.fail()
    answer = api.post(f"tasks/{task_id}/requeue")
    assert payload_in(answer.text) == PAYLOAD
    assert f'"metadata":{{"big":{10**30},"none":[],"previous_attempts":[1]}}' in answer.text
    hand.succeed(PAYLOAD)
    for path in (f"tasks/{task_id}", f"tasks/{task_id}/result"):
        assert f'"result":{PAYLOAD}' in api.get(path).text


def test_every_kind_of_result_comes_back(api: Api, hand: Hand) -> None:
    for result in ("null", "0", "-0.0", "false", '""', "[]", "{}", '"\u2028"', str(10**40)):
        task_id = api.submit()
        hand.succeed(result)
        assert api.get(f"tasks/{task_id}/result").text.endswith(f'"result":{result}}}')


def test_spacing_and_escapes_become_canonical_and_key_order_stays(api: Api) -> None:
    answer = api.send("tasks", b'{ "task_type" : "echo", "payload" : { "b" : 1 , "a" : "\\u6f22" } }')
    assert '"payload":{"b":1,"a":"漢"}' in answer.text


def test_secrets_in_a_payload_come_back_to_who_sent_them(api: Api) -> None:
    task_id = api.submit(payload={"password": "hunter2"})
    assert api.get(f"tasks/{task_id}").body["payload"] == {"password": "hunter2"}
