"""The filter language, for browsing and for redriving: CEL over the fields of a dead letter.

A filter is compiled once and gives true or false. The library bounds its length, its nesting (32) and its
steps, ``filter.cost`` what it may cost for one dead letter. No text or list can be grown, and of key, value
and headers only the beginning is seen. A filter that cannot be evaluated for a dead letter (a header that is
not there, a division by zero) does not match and says why; nothing is ever raised. ``docs/filter.md`` is the
manual.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from cel_expr_python import cel

from deadwatch.deadletter.filter import cost, expression
from deadwatch.deadletter.filter.errors import FilterError, explained, in_one_line
from deadwatch.deadletter.filter.fields import FIELDS, TEXTS
from deadwatch.deadletter.record import DeadLetter

MAX_CHARS: Final = 4_000

_GET: Final = cel.Overload(
    "headers_get",
    cel.Type.STRING,
    [TEXTS, cel.Type.STRING],
    is_member=True,
    impl=lambda headers, name: headers.get(name, ""),
)
_ENVIRONMENT: Final = cel.NewEnv(
    variables={name: field.kind for name, field in FIELDS.items()},
    functions=[cel.FunctionDecl("get", [_GET])],
)
_ONE_AT_A_TIME: Final = threading.Lock()
_LONG_S: Final = 0.002
"""An evaluation that takes longer is followed by a pause of its length: it holds the interpreter's lock, and
other threads must come to run as well.
"""
_GROWING: Final = frozenset({"add_string", "add_bytes", "add_list"})
"""Overloads by which a text or a list could be grown without bound."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a dead letter matches; ``problem`` says why the filter could not be evaluated."""

    matches: bool
    problem: str = ""


class Filter:
    """A compiled filter; it is pickled as its text and compiled again in the other process."""

    def __init__(self, text: str) -> None:
        """Raises ``FilterError`` with the position and, where there is one, a hint."""
        self.text = text
        self._compiled, self.fields = _compiled(text)
        """``fields`` are the names of the fields that the filter asks for."""

    def __reduce__(self) -> tuple[type["Filter"], tuple[str]]:
        return Filter, (self.text,)

    def __call__(self, dead_letter: DeadLetter) -> bool:
        """Whether the dead letter matches."""
        return self.verdict(dead_letter).matches

    def verdict(self, dead_letter: DeadLetter) -> Verdict:
        """Whether the dead letter matches, or why that cannot be evaluated."""
        data = {name: FIELDS[name].of(dead_letter) for name in self.fields}
        try:
            with _ONE_AT_A_TIME:
                began_s = time.perf_counter()
                result = self._compiled.eval(data=data)
                took_s = time.perf_counter() - began_s
                if took_s > _LONG_S:
                    time.sleep(took_s)
        except RuntimeError as error:
            return Verdict(matches=False, problem=in_one_line(str(error)))
        if result.type() != cel.Type.BOOL:
            return Verdict(matches=False, problem=in_one_line(str(result.value())))
        return Verdict(matches=bool(result.value()))


def _compiled(text: str) -> tuple[Any, frozenset[str]]:  # the library has no types
    """The compiled filter and the fields that it asks for."""
    if len(text) > MAX_CHARS:
        raise FilterError(f"it has {len(text)} characters, more than {MAX_CHARS}")
    try:
        compiled = _ENVIRONMENT.compile(text)
    except RuntimeError as error:
        raise explained(str(error), text) from None
    if compiled.return_type() != cel.Type.BOOL:
        raise FilterError(
            f"it gives {compiled.return_type().name().lower()}, not true or false",
            hint="compare it with something, as in attempts > 3",
        )
    checked = expression.read(compiled.serialize())
    if checked.overloads & _GROWING:
        raise FilterError(
            "texts and lists cannot be put together here", hint="leave out + between texts, map and filter"
        )
    cost.check(checked.root)
    return compiled, checked.identifiers & FIELDS.keys()
