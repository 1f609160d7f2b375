"""What is wrong with a filter: the library's words, the place, and what may have been meant."""

import difflib
import re
from collections.abc import Iterable
from typing import Final

from streaming.filter_fields import FIELDS
from streaming.redrive.errors import FilterError

FUNCTIONS: Final = (
    *("all", "contains", "duration", "endsWith", "exists", "exists_one", "get", "getDate", "getFullYear"),
    *("getHours", "getMinutes", "getMonth", "getSeconds", "has", "int", "matches", "size", "startsWith"),
    *("string", "timestamp"),
)

_PLACE = re.compile(r"<input>:(?P<line>\d+):(?P<column>\d+): (?P<message>.*)")
_NAME = re.compile(r"undeclared reference to '([^']*)'")
_WORDS: Final = (
    (re.compile(r"'and'"), "write && for and"),
    (re.compile(r"'or'"), "write || for or"),
    (re.compile(r"token recognition error at: '= ?'?"), "write == to compare"),
    (re.compile(r"null_type"), 'texts are "" and numbers -1 where nothing is known; a null has the size -1'),
    (re.compile(r"select operation"), 'a header of any name is headers.get("name")'),
)


def explained(error: str, text: str) -> FilterError:
    """The error for what the library says of ``text``."""
    found = _PLACE.search(error)
    if found is None:
        return FilterError(one_line(error))
    message, hint = _said(found["message"]), _hint(found["message"], text)
    return FilterError(message, int(found["line"]), int(found["column"]), hint)


def _said(message: str) -> str:
    """The library's sentence without what only its authors understand."""
    said = (
        message.replace("Syntax error: ", "")
        .replace(" (in container '')", "")
        .removesuffix(" [INVALID_ARGUMENT]")
    )
    unknown = _NAME.search(said)
    if unknown:
        return f"{unknown[1]!r} is no field and no function"
    return (
        "it ends too early"
        if "'<EOF>' expecting {" in said
        else re.sub(r" expecting .*", " is not expected", said)
    )


def _hint(message: str, text: str) -> str:
    unknown = _NAME.search(message)
    if unknown:
        return _meant(unknown[1], (*FIELDS, *FUNCTIONS))
    if not text.strip():
        return "true selects all"
    return next((hint for pattern, hint in _WORDS if pattern.search(message)), "")


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.split(".", maxsplit=1)[0], known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"fields are {', '.join(FIELDS)}"


def one_line(text: str) -> str:
    """What the library says, as part of a sentence."""
    return " ".join(text.split())[:200]
