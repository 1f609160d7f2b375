"""The expression that a filter was compiled to: a ``cel.expr.Expr``, read from its serialised form.

The library has no interface to the tree. It serialises a ``google.protobuf.Any`` around a
``cel.expr.CheckedExpr`` (``cel/expr/checked.proto`` and ``syntax.proto`` of github.com/google/cel-spec). No
package has their classes: the fields are read by their numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from google.protobuf.any_pb2 import Any
from google.protobuf.empty_pb2 import Empty
from google.protobuf.unknown_fields import UnknownFieldSet

Message = dict[int, list[bytes]]
"""A message of protobuf: the contents of its fields by their numbers. All that is read of them is bytes."""

REFERENCES, EXPRESSION = 2, 4
"""Fields of cel.expr.CheckedExpr."""
CONST, IDENT, SELECT, CALL, LIST, STRUCT, COMPREHENSION = 3, 4, 5, 6, 7, 8, 9
"""Fields of cel.expr.Expr; each expression has one of them."""
CONDITIONAL: Final = b"_?_:_"
"""The function of a call that chooses."""
STRING: Final = 6
"""The field of cel.expr.Constant that holds a text."""
ITERATION_VARIABLES: Final = (1, 8)
ITERATED: Final = 2
ONCE: Final = (2, 4, 7)
EACH_ELEMENT: Final = (5, 6)
"""Fields of cel.expr.Expr.Comprehension: names, and expressions by how often they are evaluated."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression: its root, and the overloads of functions that it calls, as ``add_string``.

    ``identifiers`` are all names in it, variables of comprehensions included.
    """

    root: Message
    overloads: frozenset[str]
    identifiers: frozenset[str]


def read(serialised: bytes) -> Expression:
    """The expression that ``cel`` has compiled and serialised."""
    checked = message(Any.FromString(serialised).value)
    references = [within(message(entry), 2) for entry in checked.get(REFERENCES, [])]
    overloads = frozenset(name.decode() for reference in references for name in reference.get(3, []))
    root = within(checked, EXPRESSION)
    return Expression(root, overloads, frozenset(_identifiers(root)))


def message(raw: bytes) -> Message:
    """The fields of a message of protobuf."""
    found: Message = {}
    for field in UnknownFieldSet(Empty.FromString(raw)):
        found.setdefault(field.field_number, []).append(field.data)
    return found


def within(fields: Message, number: int) -> Message:
    """The message in a field that has one value."""
    (only,) = fields[number]
    return message(only)


def operands(call: Message) -> list[Message]:
    """The target of a call, if it has one, and its arguments."""
    return [message(raw) for raw in (*call.get(1, []), *call.get(3, []))]


def elements(expression: Message) -> list[Message]:
    """The elements of a list that is written out; none for any other expression."""
    return [message(raw) for raw in within(expression, LIST).get(1, [])] if LIST in expression else []


def branches(expression: Message) -> list[Message]:
    """The two expressions that ``?:`` chooses from; none for any other expression."""
    call = within(expression, CALL) if CALL in expression else {}
    return operands(call)[1:] if call.get(2) == [CONDITIONAL] else []


def children(expression: Message) -> Iterator[Message]:
    """The expressions directly inside another one."""
    if SELECT in expression:
        yield within(within(expression, SELECT), 1)
    if CALL in expression:
        yield from operands(within(expression, CALL))
    yield from elements(expression)
    for entry in within(expression, STRUCT).get(2, []) if STRUCT in expression else ():
        yield from (message(raw) for number in (3, 4) for raw in message(entry).get(number, []))
    if COMPREHENSION in expression:
        comprehension = within(expression, COMPREHENSION)
        yield from (within(comprehension, number) for number in (*ONCE, *EACH_ELEMENT))


def identifier(expression: Message) -> str:
    """The name of an expression that is an identifier; "" for any other one."""
    return b"".join(within(expression, IDENT)[1]).decode() if IDENT in expression else ""


def text(expression: Message) -> bytes | None:
    """A constant as a text, empty for a constant of another type; None for what is no constant."""
    return b"".join(within(expression, CONST).get(STRING, [])) if CONST in expression else None


def _identifiers(expression: Message) -> Iterator[str]:
    if IDENT in expression:
        yield identifier(expression)
    for child in children(expression):
        yield from _identifiers(child)
