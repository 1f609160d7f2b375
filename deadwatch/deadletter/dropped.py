"""Which headers a redrive leaves out of the records that it moves.

By default those that would make the record fail in another way than it did before: Spring counts its attempts
in ``retry_topic-attempts``, and gives a record up at once that comes back with them.
"""

from deadwatch.deadletter.dialects import reading
from deadwatch.deadletter.record import OURS, Headers

Patterns = tuple[str, ...]


class HeaderRule:
    """The headers that one order leaves out; ``asked`` None: those that the record's dialect names."""

    def __init__(self, asked: Patterns | None) -> None:
        self._asked = asked
        self._by_dialect: dict[str, Patterns] = {}

    def patterns(self, dialect: str) -> Patterns:
        """What is left out of records of a dialect."""
        if self._asked is not None:
            return self._asked
        known = self._by_dialect.get(dialect)
        if known is None:
            known = tuple(
                pattern for one in reading().dialects if one.name == dialect for pattern in one.drop_headers
            )
            self._by_dialect[dialect] = known
        return known

    def dropped(self, dialect: str, headers: Headers) -> frozenset[str]:
        """The names of the headers that are left out of a record; ours are none, they are written anew."""
        patterns = self.patterns(dialect)
        if not patterns:
            return frozenset()
        kept = {name for name, _ in without(headers, patterns)}
        return frozenset(name for name, _ in headers if name not in kept and name not in OURS)


def without(headers: Headers, patterns: Patterns) -> Headers:
    """The headers of which no pattern matches the name."""
    if not patterns:
        return headers
    names = frozenset(patterns)
    beginnings = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))
    return tuple(
        pair
        for pair in headers
        if pair[0] not in names and not (beginnings and pair[0].startswith(beginnings))
    )
