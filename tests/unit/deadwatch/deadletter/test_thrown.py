"""Which exception was thrown, where the headers name one that wraps it."""

import pytest

from deadwatch.deadletter.thrown import printed_causes, thrown
from tests.tables import named

TRACE = (
    "w.Wrapper: outer\n\tat a.B.c\nCaused by: y.Middle: middle\n\tat d.E\nCaused by: a.Inner: inner\n\tat f.G"
)
PRINTED = ["y.Middle: middle", "a.Inner: inner"]
WRAPPERS = frozenset({"w.Wrapper", "w.Other"})


def test_a_stack_trace_prints_the_causes_behind_the_first_exception() -> None:
    assert printed_causes(TRACE) == PRINTED
    assert printed_causes("w.Wrapper: outer\n\tat a.B.c") == []


MIDDLE, OUTER = ("y.Middle", "middle"), ("w.Wrapper", None)
CASES = [
    ("the first cause of the trace", "", "", PRINTED, MIDDLE),
    ("the first one that is no wrapper", "", "", ["w.Other: too", *PRINTED], MIDDLE),
    ("the first one that is a class", "", "", ["no class", *PRINTED], MIDDLE),
    ("the header names the class", "y.Middle", "", PRINTED, MIDDLE),
    ("in whatever order they are printed", "y.Middle", "", PRINTED[::-1], MIDDLE),
    ("the header has the message, too", "y.Middle", "of the header", PRINTED, ("y.Middle", "of the header")),
    ("a class not printed keeps the wrapper's message", "z.Unprinted", "", PRINTED, ("z.Unprinted", None)),
    ("the header names another wrapper", "w.Other", "", PRINTED, MIDDLE),
    ("the message of that wrapper is not its cause's", "w.Other", "of the header", PRINTED, MIDDLE),
    ("nothing else is named", "", "", [], OUTER),
    ("only wrappers are printed", "", "", ["w.Other: too"], OUTER),
    ("what the header has is no class", "no class", "", PRINTED, OUTER),
]


@pytest.mark.parametrize(("cause_class", "cause_message", "causes", "found"), named(CASES))
def test_the_thrown_exception(
    cause_class: str, cause_message: str, causes: list[str], found: tuple[str, str | None]
) -> None:
    assert thrown("w.Wrapper", cause_class, cause_message, causes, WRAPPERS) == found
