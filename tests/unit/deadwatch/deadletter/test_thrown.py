"""Which exception was thrown, where the headers name one that wraps it."""

import pytest

from deadwatch.deadletter.thrown import Exceptions, printed_causes, thrown

TRACE = (
    "w.Wrapper: outer\n\tat a.B.c\nCaused by: y.Middle: middle\n\tat d.E\nCaused by: a.Inner: inner\n\tat f.G"
)
PRINTED = ["y.Middle: middle", "a.Inner: inner"]
WRAPPERS = frozenset({"w.Wrapper", "w.Other"})


def test_a_stack_trace_prints_the_causes_behind_the_first_exception() -> None:
    assert printed_causes(TRACE) == PRINTED
    assert printed_causes("w.Wrapper: outer\n\tat a.B.c") == []


@pytest.mark.parametrize(
    ("cause_class", "cause_message", "causes", "found"),
    [
        ("", "", PRINTED, ("y.Middle", "middle")),
        ("", "", ["w.Other: too", *PRINTED], ("y.Middle", "middle")),
        ("", "", ["no class", *PRINTED], ("y.Middle", "middle")),
        ("y.Middle", "", PRINTED, ("y.Middle", "middle")),
        ("y.Middle", "", PRINTED[::-1], ("y.Middle", "middle")),
        ("y.Middle", "of the header", PRINTED, ("y.Middle", "of the header")),
        ("z.Unprinted", "", PRINTED, ("z.Unprinted", "outer")),
        ("w.Other", "", PRINTED, ("y.Middle", "middle")),
        ("w.Other", "of the header", PRINTED, ("y.Middle", "middle")),
        ("", "", [], ("w.Wrapper", "outer")),
        ("", "", ["w.Other: too"], ("w.Wrapper", "outer")),
        ("no class", "", PRINTED, ("w.Wrapper", "outer")),
    ],
    ids=[
        "the first cause of the trace",
        "the first one that is no wrapper",
        "the first one that is a class",
        "the header names the class",
        "in whatever order they are printed",
        "the header has the message, too",
        "a class that is not printed keeps the wrapper's message",
        "the header names another wrapper",
        "the message of that wrapper is not its cause's",
        "nothing else is named",
        "only wrappers are printed",
        "what the header has is no class",
    ],
)
def test_the_thrown_exception(
    cause_class: str, cause_message: str, causes: list[str], found: tuple[str, str]
) -> None:
    seen = Exceptions("w.Wrapper", "outer", cause_class, cause_message, causes)
    assert thrown(seen, WRAPPERS) == found
