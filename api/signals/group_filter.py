"""Which groups a search text selects: words as people type them, or a filter.

Words: each of them occurs, in upper or lower case, in one of ``WORD_COLUMNS``; words between double quotes
are one. A text with an operator or a function of the filter language outside of quotes is a filter,
``deadwatch.deadletter.filter``, evaluated on a group's newest record. A group answers what its cause
determines: a field that differs from record to record cannot be asked of a group.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from deadwatch.deadletter.dialects import reading
from deadwatch.deadletter.filter import Filter
from deadwatch.deadletter.filter.errors import FUNCTIONS, FilterError
from deadwatch.deadletter.record import Cause, DeadLetter

OWNER: Final = "owner"
WORD_COLUMNS: Final = ("message", "error_class", "dlq_topic", "source_topic", "consumer", OWNER)
"""What words are looked for in; the owner is of the group's note."""
MAX_WORDS: Final = 50
QUOTE_HINT: Final = "to search for this text itself, put it between double quotes"
_TOKEN: Final = re.compile(r'"(?P<phrase>[^"]+)"|(?P<word>\S+)')
_LANGUAGE: Final = re.compile(
    r"[=!<>]=|&&|\|\||(?<= )[=<>](?= )|\w[<>][\"\d]|\bin \[" + rf"|\b({'|'.join(FUNCTIONS)})\("
)
"""A comparison, "and", "or", a list, or a call of a function.

A single ``=`` counts between blanks only, ``<`` and ``>`` also before a number or a quote: messages of Kafka
have ``offset=17``, ``List<String>`` and ``->``.
"""


def words_in(text: str) -> tuple[str, ...] | None:
    """The words and quoted phrases of a search text, each once; None where the text is a filter."""
    tokens = list(_TOKEN.finditer(text))
    bare = " ".join(token["word"] for token in tokens if token["word"])
    if _LANGUAGE.search(f" {bare} "):
        return None
    return tuple(dict.fromkeys(token["phrase"] or token["word"] for token in tokens))


GROUP_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dialect": ("dialect",),
    "topic": ("dlq_topic",),
    "timestamp": ("last_ms",),
    "source_topic": ("source_topic",),
    "consumergroup": ("dialect", "consumer"),
    "connector": ("dialect", "consumer"),
    "error_class": ("error_class",),
    "message": ("message",),
    "fingerprint": ("fingerprint",),
}
"""Fields of the filter that a group can answer, and the columns that they need."""
CAUSE_COLUMNS: Final = ("dialect", "source_topic", "error_class", "message", "fingerprint")
UNKNOWN: Final = Cause("", "", None, "", "", "", "", False, "", 0, "", "", False)


def group_filter(text: str) -> Filter:
    """The compiled filter. Raises ``FilterError``, also for a field that no group has."""
    try:
        compiled = Filter(text)
    except FilterError as error:
        raise _with_quote_hint(error) from None
    for name in sorted(compiled.fields):
        if name not in GROUP_FIELDS:
            hint = f"open a group to look at its records; groups have {', '.join(GROUP_FIELDS)}"
            raise FilterError(f"{name!r} differs from record to record", hint=hint)
    return compiled


def _with_quote_hint(error: FilterError) -> FilterError:
    line, column, hint = (error.facts[name] for name in ("line", "column", "hint"))
    message = str(error).partition(": ")[2].removesuffix(f"; {hint}")
    return FilterError(message, line, column, f"{hint}; {QUOTE_HINT}" if hint else QUOTE_HINT)


def matcher(text: str) -> tuple[Sequence[str], Callable[..., bool]]:
    """The columns that a search text needs, and whether a group with these values matches.

    Raises ``FilterError``: the text is no valid filter, or has more than ``MAX_WORDS`` words.
    """
    words = words_in(text)
    if words is None:
        return _filter_matcher(text)
    return (WORD_COLUMNS, _word_matcher(words)) if words else ((), lambda: True)


def _word_matcher(words: Sequence[str]) -> Callable[..., bool]:
    if len(words) > MAX_WORDS:
        hint = "search for fewer words, or for a text as it is between double quotes"
        raise FilterError(f"{len(words)} words are more than {MAX_WORDS}", hint=hint)
    wanted = [word.casefold() for word in words]

    def matches(*values: str) -> bool:
        text = "\n".join(values).casefold()
        return all(word in text for word in wanted)

    return matches


def _filter_matcher(text: str) -> tuple[Sequence[str], Callable[..., bool]]:
    """Groups with the same values are evaluated once."""
    compiled = group_filter(text)
    columns = sorted({name for field in compiled.fields for name in GROUP_FIELDS[field]})
    asks_consumer = not compiled.fields.isdisjoint({"consumergroup", "connector"})

    @cache
    def matches(*values: str | int) -> bool:
        group = dict(zip(columns, values, strict=True))
        known = [dialect for dialect in reading().dialects if dialect.name == group.get("dialect")]
        if asks_consumer and any(
            dialect.may_have("connector") and dialect.may_have("consumergroup") for dialect in known
        ):
            return False  # records of the dialect may have both, and the consumer of a group is either
        return compiled(_dead_letter(group, connects=any(dialect.may_have("connector") for dialect in known)))

    return columns, matches


def _dead_letter(columns: Mapping[str, Any], *, connects: bool) -> DeadLetter:
    """A group's newest record, as far as these columns of the group show it."""
    consumer = {"connector" if connects else "consumergroup": columns.get("consumer", "")}
    known = {name: columns[name] for name in CAUSE_COLUMNS if name in columns}
    topic, last_ms = columns.get("dlq_topic", ""), columns.get("last_ms", 0)
    return DeadLetter(topic, 0, 0, last_ms, None, None, (), None, replace(UNKNOWN, **known, **consumer))
