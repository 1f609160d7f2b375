"""What a filter may cost at worst for one dead letter, known from its expression before it is evaluated.

The library evaluates an expression in one go and holds the interpreter's lock meanwhile: a filter that takes
seconds would hold up every other thread. So the steps of its regular expressions and of all other calls are
added up, times the elements that ``all``, ``exists`` and ``exists_one`` go through: the headers, or a list
that is written out. A regular expression is compiled anew at each evaluation, and takes time in proportion to
the text and to its instructions, with its repetitions written out.
"""

import re
from collections.abc import Mapping
from typing import Final

from deadwatch.contract.events import MAX_TEXT_CHARS
from deadwatch.deadletter.filter import expression as tree
from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.deadletter.filter.expression import Message, elements, within
from deadwatch.deadletter.filter.fields import FIELDS, MAX_BYTES, MAX_HEADERS

Lengths = Mapping[str, int]
"""How many characters the text behind a name may have."""

HEADERS: Final = "headers"
"""The one field that holds many texts; what goes through it sees their names."""

MAX_STEPS: Final = 6_000_000
"""For one dead letter: a tenth of a second in the worst case."""
MOST_TIMES: Final = 1_000
"""The greatest excess that an error shows; nested repetitions may exceed what a float holds."""
CALL_STEPS: Final = 30
"""Steps of a call. One step of a regular expression is an instruction at a character."""
CHARACTERS_A_STEP: Final = 64
"""Characters that a call without a regular expression looks at in one step."""
COMPILE_STEPS: Final = 300
"""Steps to compile an instruction of a regular expression."""

LENGTHS: Final[Lengths] = {
    **dict.fromkeys(FIELDS, MAX_TEXT_CHARS),
    "key": MAX_BYTES,
    "value": MAX_BYTES,
    HEADERS: MAX_HEADERS * MAX_BYTES,
}

_REPETITION: Final = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_PROPERTY: Final = r"\\[pP](?:\{[^}]*\}?|.)?"
_CODE: Final = r"\\x(?:\{[^}]*\}?|[0-9A-Fa-f]{1,2})?|\\[0-7]{1,3}"
_ATOM: Final = re.compile(
    rf"(?P<quoted>\\Q.*?(?:\\E|\Z))|(?P<property>{_PROPERTY})|(?P<code>{_CODE})"
    rf"|(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|{_PROPERTY}|{_CODE}|\\.|[^\]\\])*\])"
    r"|(?P<wide>\.|\\[A-Z])|(?P<narrow>\\.)|(?P<literal>.)",
    re.DOTALL,
)
_MEMBER: Final = rf"(?:\[:\^?\w+:\]|{_PROPERTY}|{_CODE}|\\.|.)"
_MEMBERS: Final = re.compile(rf"{_MEMBER}(?:-{_MEMBER})?", re.DOTALL)
"""A character, class or range of a set."""
_FOLDS: Final = re.compile(r"\(\?[A-Za-z]*i")
_WIDE_MEMBER: Final = re.compile(r"\\[A-Zx]|\\[0-7]|\[:\^")
_NARROW: Final = 2
"""Instructions of a class of some characters."""
_WIDE: Final = 10
"""Instructions of a class of nearly all characters, which RE2 matches byte by byte."""
_CLASS: Final = 2_000
"""Instructions of a class of Unicode, as ``\\pL``."""
_FOLDED: Final = 5
"""Instructions of a byte of a character whose case is ignored: of ``k`` there are three, of four bytes."""


def check(root: Message) -> None:
    """Refuse an expression that may take more than ``MAX_STEPS``.

    Raises:
        FilterError: it may take more, or its cost cannot be known.
    """
    most = steps(root, LENGTHS)
    if most > MAX_STEPS:
        times = min(most, MOST_TIMES * MAX_STEPS) / MAX_STEPS
        raise FilterError(
            f"it may take {times:,.1f} times as long as a filter may for one record",
            hint="use fewer or shorter regular expressions, contains() for matches(), message for value",
        )


def program(pattern: str) -> int:
    """About how many instructions RE2 makes of a regular expression, with its repetitions written out."""
    groups, last, at = [0], 0, 0
    folded = _FOLDED if _FOLDS.search(pattern) else 1
    while at < len(pattern):
        repetition = _REPETITION.match(pattern, at)
        if repetition:
            times = max(1, int(repetition[2] or repetition[1]))
            groups[-1] += last * (times - 1)
            last, at = last * times, repetition.end()
        elif pattern[at] == "(":
            groups.append(2)
            at += 1
        else:
            is_end = pattern[at] == ")" and len(groups) > 1
            last, at = (groups.pop(), at + 1) if is_end else _atom(pattern, at, folded)
            groups[-1] += last
    return sum(groups)


def _atom(pattern: str, at: int, folded: int) -> tuple[int, int]:
    """The instructions of the atom that begins at ``at``, and the place behind it.

    ``folded`` is how many times as many a character takes whose case is ignored.
    """
    found = _ATOM.match(pattern, at)
    text, kind = (found[0], found.lastgroup) if found else (pattern[at:], "")
    match kind:
        case "property":
            instructions = _CLASS
        case "code":
            instructions = len("\U0010ffff".encode()) * folded
        case "set":
            instructions = _set(text) if folded == 1 else max(_set(text), _WIDE)
        case "wide":
            instructions = _WIDE
        case "narrow":
            instructions = _NARROW * folded
        case _:
            instructions = len(text.encode(errors="replace")) * folded
    return instructions, at + len(text)


def _set(text: str) -> int:
    inner = text[1:-1].removeprefix("^")
    members = max(1, len(_MEMBERS.findall(inner)))
    wide = text.startswith("[^") or not text.isascii() or _WIDE_MEMBER.search(inner)
    classes = len(re.findall(r"\\[pP]", inner))
    return classes * _CLASS or (members * _WIDE if wide else max(members, _NARROW))


def steps(expression: Message, lengths: Lengths) -> int:
    """The steps that an expression takes at most, if the texts behind its names are of these lengths."""
    if tree.CALL in expression:
        return _steps_of_call(within(expression, tree.CALL), lengths)
    if tree.COMPREHENSION in expression:
        return _steps_of_comprehension(within(expression, tree.COMPREHENSION), lengths)
    return CALL_STEPS + sum(steps(child, lengths) for child in tree.children(expression))


def _steps_of_call(call: Message, lengths: Lengths) -> int:
    arguments = tree.operands(call)
    most = CALL_STEPS + sum(steps(argument, lengths) for argument in arguments)
    if call[2] != [b"matches"]:
        return most + sum(_longest(argument, lengths) for argument in arguments) // CHARACTERS_A_STEP
    searched, pattern = arguments
    written = tree.text(pattern)
    if written is None:
        raise FilterError(
            "the regular expression of matches() is not written out", hint='write it as a text: "…"'
        )
    return most + program(written.decode()) * (COMPILE_STEPS + _longest(searched, lengths))


def _steps_of_comprehension(comprehension: Message, lengths: Lengths) -> int:
    count, longest = _elements(within(comprehension, tree.ITERATED), lengths)
    variables = [
        name.decode() for number in tree.ITERATION_VARIABLES for name in comprehension.get(number, [])
    ]
    if HEADERS in variables:
        raise FilterError(f"a variable cannot be called {HEADERS}", hint="call it h")
    inner = {**lengths, **dict.fromkeys(variables, longest)}
    each, once = (
        sum(steps(within(comprehension, number), inner) for number in numbers)
        for numbers in (tree.EACH_ELEMENT, tree.ONCE)
    )
    return count * each + once


def _elements(iterated: Message, lengths: Lengths) -> tuple[int, int]:
    """How many elements there may be, and how many characters the longest has."""
    chosen = tree.branches(iterated)
    if chosen:
        counts, longest = zip(*(_elements(branch, lengths) for branch in chosen), strict=True)
        return max(counts), max(longest)
    if tree.identifier(iterated) == HEADERS:
        return MAX_HEADERS, MAX_TEXT_CHARS
    if tree.LIST not in iterated:
        raise FilterError(
            "all, exists and exists_one cannot go through it: how much it holds is not known",
            hint="go through headers, or a list that is written out",
        )
    written = elements(iterated)
    return len(written), max((_longest(one, lengths) for one in written), default=0)


def _longest(expression: Message, lengths: Lengths) -> int:
    """How many characters the text, or the texts of the list, may have that an expression gives."""
    constant = tree.text(expression)
    if constant is not None:
        return len(constant)
    if tree.LIST in expression:
        return sum(_longest(element, lengths) for element in elements(expression))
    chosen = tree.branches(expression)
    if chosen:
        return max(_longest(branch, lengths) for branch in chosen)
    return lengths.get(tree.identifier(expression), MAX_BYTES)
