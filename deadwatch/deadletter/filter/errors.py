"""Errors of filters: the library's message, its position, and a hint at what may have been meant."""

import difflib
import re
from typing import Final

from deadwatch.contract.errors import RequestError
from deadwatch.deadletter.filter.fields import FIELDS

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


class FilterError(RequestError):
    """A filter that cannot be used: why, where (line and column count from 1), and a hint."""

    kind = "invalid-filter"
    title = "The filter cannot be used"

    def __init__(self, message: str, line: int = 1, column: int = 1, hint: str = "") -> None:
        text = f"filter, line {line}, column {column}: {message}"
        super().__init__(f"{text}; {hint}" if hint else text)
        self.facts = {"line": line, "column": column, "hint": hint}


def explained(error: str, text: str) -> FilterError:
    """The error for the library's message about the filter ``text``."""
    found = _PLACE.search(error)
    if found is None:
        return FilterError(in_one_line(error))
    message, hint = _plain(found["message"]), _hint(found["message"], text)
    return FilterError(message, int(found["line"]), int(found["column"]), hint)


def _plain(message: str) -> str:
    """The library's message without the parts that only its authors understand."""
    plain = (
        message.replace("Syntax error: ", "")
        .replace(" (in container '')", "")
        .removesuffix(" [INVALID_ARGUMENT]")
    )
    unknown = _NAME.search(plain)
    if unknown:
        return f"{unknown[1]!r} is no field and no function"
    return (
        "it ends too early"
        if "'<EOF>' expecting {" in plain
        else re.sub(r" expecting .*", " is not expected", plain)
    )


def _hint(message: str, text: str) -> str:
    unknown = _NAME.search(message)
    if unknown:
        name = unknown[1].split(".", maxsplit=1)[0]
        close = difflib.get_close_matches(name, (*FIELDS, *FUNCTIONS), n=1, cutoff=0.6)
        return f"did you mean {close[0]}?" if close else f"fields are {', '.join(FIELDS)}"
    if not text.strip():
        return "true selects all"
    return next((hint for pattern, hint in _WORDS if pattern.search(message)), "")


def in_one_line(text: str) -> str:
    """A message of the library as part of a sentence, at most 200 characters."""
    return " ".join(text.split())[:200]
