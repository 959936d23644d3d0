"""JSON that survives every hop unchanged, or is refused at the door."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.errors import MalformedJson
from tasks_app.domain.strict_json import MAX_DEPTH, dumps, loads

EXACT = [9007199254740993, 10**30, -(2**63), 0.1, [], {}, [[]], {"1": 1}, "漢🙂\u2028", "\x00", None, True]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=30,
)


def deep(levels: int, opening: str = "[", closing: str = "]") -> str:
    return opening * levels + closing * levels


class Point(NamedTuple):
    x: int


@given(values)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    text = dumps(value)
    assert loads(text) == value
    assert dumps(loads(text.encode())) == text


def test_what_json_libraries_like_to_change_is_kept() -> None:
    text = dumps(EXACT)
    assert text == (
        "[9007199254740993,1000000000000000000000000000000,-9223372036854775808,0.1,[],{},[[]],"
        '{"1":1},"漢🙂\u2028","\\u0000",null,true]'
    )
    assert loads(text) == EXACT
    assert dumps(loads(text)) == text


@given(values)
def test_what_it_writes_any_parser_reads(value: Any) -> None:
    assert json.loads(dumps(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "{",
        "[1,]",
        "{'a':1}",
        '{"a":1,}',
        "nul",
        "01",
        "1 2",
        '"\t"',
        "\ufeff{}",
        "// comment\n1",
        '"\\x41"',
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(MalformedJson, match="^Not JSON") as refused:
        loads(text)
    assert refused.value.code == "VALIDATION_ERROR"
    assert set(refused.value.details) == {"line", "column"}


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "[NaN]", '{"a":-Infinity}'])
def test_words_of_javascript_are_refused(text: str) -> None:
    with pytest.raises(MalformedJson, match="is not JSON"):
        loads(text)


@pytest.mark.parametrize("text", ["1e400", "-1e999", "[1.0E+400]"])
def test_a_number_no_float_can_hold_is_refused(text: str) -> None:
    with pytest.raises(MalformedJson, match="out of range"):
        loads(text)


def test_an_integer_longer_than_python_converts_is_refused() -> None:
    with pytest.raises(MalformedJson, match="A whole number has more than 4300 digits"):
        loads("1" * 5000)
    with pytest.raises(MalformedJson):
        dumps(10**5000)


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', '{"a":1,"b":2,"a":1}', '[{"x":{"k":1,"k":1}}]', '{"a":1,"\\u0061":2}']
)
def test_a_key_given_twice_is_refused(text: str) -> None:
    with pytest.raises(MalformedJson, match="Duplicate key"):
        loads(text)


@pytest.mark.parametrize("text", ['{"a\\u0000b":1}', '[{"\\u0000":1}]'])
def test_a_name_with_nul_is_refused(text: str) -> None:
    with pytest.raises(MalformedJson, match="NUL"):
        loads(text)


@pytest.mark.parametrize("value", [{"a\x00": 1}, [{"b": {"\x00": 1}}]])
def test_a_name_with_nul_is_not_written(value: Any) -> None:
    with pytest.raises(MalformedJson, match="NUL"):
        dumps(value)


def test_text_with_nul_is_kept() -> None:
    assert loads('{"a":"\\u0000"}') == {"a": "\x00"}


@pytest.mark.parametrize(
    "text", ['"\\ud800"', '["\\udfff"]', '{"\\ud83d":1}', '"\\ude00\\ud83d"', '"\\uD83D"', '"\ud800"', '{"a":"\udc80"}']
)
def test_half_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(MalformedJson, match="surrogate"):
        loads(text)


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert loads('"\\ud83d\\ude42"') == "🙂"


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, ["a", "\udc00b"]])
def test_half_a_surrogate_pair_is_not_written(value: Any) -> None:
    with pytest.raises(MalformedJson, match="surrogate"):
        dumps(value)


@pytest.mark.parametrize("text", [b'"\xff"', b'"\xed\xa0\x80"', b'\xff\xfe"\x00', b'"\xc3'])
def test_bytes_that_are_not_utf8_are_refused(text: bytes) -> None:
    with pytest.raises(MalformedJson, match="UTF-8") as refused:
        loads(text)
    assert refused.value.details["position"] >= 0


@pytest.mark.parametrize("opening,closing", [("[", "]"), ('{"a":', "}")])
def test_nesting_up_to_the_limit_is_kept(opening: str, closing: str) -> None:
    text = deep(MAX_DEPTH - 1, opening, closing).replace(opening + closing, opening + "1" + closing)
    inner = text.replace(opening + "1" + closing, opening + "[]" + closing)
    assert dumps(loads(inner)) == inner


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 1000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_past_the_limit_is_refused(levels: int, opening: str, closing: str) -> None:
    with pytest.raises(MalformedJson, match="Nested deeper"):
        loads(opening * levels + "1" + closing * levels)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '["' + "[" * 100_000])
def test_nesting_that_never_closes_is_refused(text: str) -> None:
    with pytest.raises(MalformedJson):
        loads(text)


def test_brackets_in_text_are_not_nesting() -> None:
    value = {"a": "[" * 500, "b": '\\"[{' * 500, "[" * 200: "}"}
    assert loads(dumps(value)) == value


def test_many_brackets_side_by_side_are_not_nesting() -> None:
    value: list[Any] = [[], {}] * 500
    assert loads(dumps(value)) == value


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 100_000])
def test_a_value_nested_past_the_limit_is_not_written(levels: int) -> None:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    with pytest.raises(MalformedJson):
        dumps(value)


def test_a_value_that_holds_itself_is_not_written() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(MalformedJson):
        dumps(value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_json_has_no_word_for_is_not_written(number: float) -> None:
    with pytest.raises(MalformedJson):
        dumps({"n": number})


@pytest.mark.parametrize("value", [(1, 2), {"a": (1,)}, [Point(1)]])
def test_a_tuple_is_not_written_as_a_list(value: Any) -> None:
    with pytest.raises(MalformedJson, match="tuple"):
        dumps(value)


@pytest.mark.parametrize("key", [1, 1.5, True, None])
def test_a_key_that_is_no_text_is_not_written(key: Any) -> None:
    with pytest.raises(MalformedJson, match="keys must be strings"):
        dumps([{key: 1}])


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), {"a": complex(1, 2)}, {(1, 2): 3}])
def test_other_types_are_not_written(value: Any) -> None:
    with pytest.raises(MalformedJson, match="Not serialisable"):
        dumps(value)


def test_an_ordered_mapping_keeps_its_order() -> None:
    assert dumps(OrderedDict([("b", 1), ("a", 2)])) == '{"b":1,"a":2}'
