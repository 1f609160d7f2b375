"""The expression that a filter was compiled to: a ``cel.expr.Expr``, read from its serialised form.

The library has no interface to the tree. It serialises a ``google.protobuf.Any`` around a
``cel.expr.CheckedExpr`` (``cel/expr/checked.proto`` and ``syntax.proto`` of github.com/google/cel-spec); what
is read here is protobuf's wire format.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

Message = dict[int, list[bytes]]
"""A message of protobuf: the contents of its fields by their numbers; numbers are left as bytes."""

ANY_VALUE: Final = 2
REFERENCES, EXPRESSION = 2, 4
"""Fields of cel.expr.CheckedExpr."""
CONST, IDENT, SELECT, CALL, LIST, STRUCT, COMPREHENSION = 3, 4, 5, 6, 7, 8, 9
"""Fields of cel.expr.Expr; each expression has one of them."""
STRING: Final = 6
"""The field of cel.expr.Constant that holds a text."""
ITERATION_VARIABLES: Final = (1, 8)
ITERATED: Final = 2
ONCE: Final = (2, 4, 7)
EACH_ELEMENT: Final = (5, 6)
"""Fields of cel.expr.Expr.Comprehension: names, and expressions by how often they are evaluated."""

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Kinds of a field on protobuf's wire."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression: its root, and the overloads of functions that it calls, as ``add_string``."""

    root: Message
    overloads: frozenset[str]

    @property
    def identifiers(self) -> frozenset[str]:
        """Every name in it, variables of comprehensions included."""
        return frozenset(_identifiers(self.root))


def read(serialised: bytes) -> Expression:
    """The expression that ``cel`` has compiled and serialised."""
    checked = message(message(serialised)[ANY_VALUE][0])
    references = [message(message(entry)[2][0]) for entry in checked.get(REFERENCES, [])]
    overloads = frozenset(name.decode() for reference in references for name in reference.get(3, []))
    return Expression(message(checked[EXPRESSION][0]), overloads)


def message(raw: bytes) -> Message:
    """The fields of a message of protobuf."""
    found: Message = {}
    for number, content in _fields(raw):
        found.setdefault(number, []).append(content)
    return found


def operands(call: Message) -> list[Message]:
    """The target of a call, if it has one, and its arguments."""
    return [message(raw) for raw in (*call.get(1, []), *call.get(3, []))]


def elements(expression: Message) -> list[Message]:
    """The elements of a list that is written out; none for any other expression."""
    return [message(raw) for raw in message(expression[LIST][0]).get(1, [])] if LIST in expression else []


def children(expression: Message) -> Iterator[Message]:
    """The expressions directly inside another one."""
    if SELECT in expression:
        yield message(message(expression[SELECT][0])[1][0])
    if CALL in expression:
        yield from operands(message(expression[CALL][0]))
    yield from elements(expression)
    for entry in message(expression[STRUCT][0]).get(2, []) if STRUCT in expression else ():
        yield from (message(raw) for number in (3, 4) for raw in message(entry).get(number, []))
    if COMPREHENSION in expression:
        comprehension = message(expression[COMPREHENSION][0])
        yield from (message(comprehension[number][0]) for number in (*ONCE, *EACH_ELEMENT))


def identifier(expression: Message) -> str:
    """The name of an expression that is an identifier; "" for any other one."""
    return message(expression[IDENT][0])[1][0].decode() if IDENT in expression else ""


def text(expression: Message) -> bytes | None:
    """A constant as a text, empty for a constant of another type; None for what is no constant."""
    return message(expression[CONST][0]).get(STRING, [b""])[0] if CONST in expression else None


def _identifiers(expression: Message) -> Iterator[str]:
    if IDENT in expression:
        yield identifier(expression)
    for child in children(expression):
        yield from _identifiers(child)


def _fields(raw: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        kind, begin = tag & 7, at
        if kind == VARINT:
            _, at = _varint(raw, at)
        elif kind == LENGTH:
            size, begin = _varint(raw, at)
            at = begin + size
        else:
            at += {FIXED64: 8, FIXED32: 4}[kind]
        yield tag >> 3, raw[begin:at]


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the least significant first, and the place behind it."""
    end = next(place for place in range(at, len(raw)) if raw[place] < 1 << 7) + 1
    return sum((byte & 127) << 7 * place for place, byte in enumerate(raw[at:end])), end
