"""The filter language, for browsing and for redriving: CEL over the fields of a dead letter.

A filter is compiled once and gives true or false. It is bounded: in length, in nesting (32) and in steps by
the library, regular expressions take linear time, no text or list can be grown, and of key, value and headers
only the beginning is seen. What cannot be evaluated for a letter (a header that is not there, a division by
zero) does not match and says why; nothing is ever raised. ``docs/filter.md`` is the manual.
"""

from dataclasses import dataclass
from typing import Any, Final

from cel_expr_python import cel

from streaming.filter_errors import explained, one_line
from streaming.filter_fields import FIELDS, TEXTS
from streaming.letter import Letter
from streaming.redrive.errors import FilterError

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
_GROWING: Final = ("add_string", "add_bytes", "add_list")
"""Overloads by which a text or a list could be grown without bound."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a letter matches; ``problem`` says why that could not be told."""

    matches: bool
    problem: str = ""


class Filter:
    """A compiled filter; pickled as its text, and compiled again where it arrives."""

    def __init__(self, text: str) -> None:
        """Raises ``FilterError`` with the position and, where there is one, a hint."""
        self.text = text
        self._expression = _compiled(text)
        self._used = tuple(
            (name, field) for name, field in FIELDS.items() if _asks(self._expression.serialize(), name)
        )

    def __reduce__(self) -> tuple[type["Filter"], tuple[str]]:
        return Filter, (self.text,)

    def __call__(self, letter: Letter) -> bool:
        """Whether the letter matches."""
        return self.verdict(letter).matches

    @property
    def fields(self) -> frozenset[str]:
        """The fields that it asks for."""
        return frozenset(name for name, _ in self._used)

    def verdict(self, letter: Letter) -> Verdict:
        """Whether the letter matches, and what kept that from being told."""
        try:
            result = self._expression.eval(data={name: field.of(letter) for name, field in self._used})
        except RuntimeError as error:
            return Verdict(matches=False, problem=one_line(str(error)))
        if result.type() != cel.Type.BOOL:
            return Verdict(matches=False, problem=one_line(str(result.value())))
        return Verdict(matches=bool(result.value()))


def _compiled(text: str) -> Any:  # noqa: ANN401 -- the library has no types
    if len(text) > MAX_CHARS:
        raise FilterError(f"it has {len(text)} characters, more than {MAX_CHARS}")
    try:
        expression = _ENVIRONMENT.compile(text)
    except RuntimeError as error:
        raise explained(str(error), text) from None
    if expression.return_type() != cel.Type.BOOL:
        raise FilterError(
            f"it gives {expression.return_type().name().lower()}, not true or false",
            hint="compare it with something, as in attempts > 3",
        )
    if any(_reference(overload) in expression.serialize() for overload in _GROWING):
        raise FilterError(
            "texts and lists cannot be put together here", hint="leave out + between texts, map and filter"
        )
    return expression


def _asks(compiled: bytes, name: str) -> bool:
    """Whether a compiled expression has the identifier: field 4 of cel.expr.Expr, field 1 of its Ident."""
    ident = b"\x0a" + bytes([len(name)]) + name.encode()
    return b"\x22" + bytes([len(ident)]) + ident in compiled


def _reference(overload: str) -> bytes:
    """How a compiled expression names an overload: field 3 of cel.expr.Reference."""
    return b"\x1a" + bytes([len(overload)]) + overload.encode()
