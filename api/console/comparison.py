"""What tells the samples of a group apart: headers and sizes whose values differ.

Of a header that is masked is told which samples have the same value, not which.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from api.browsing.masking import is_open
from api.console import texts
from api.schemas import Sample


@dataclass(frozen=True, slots=True)
class Difference:
    """One name and its value in every sample, in their order; None where a sample has no such header."""

    name: str
    values: tuple[str | None, ...]


def differing(samples: Sequence[Sample]) -> list[Difference]:
    """What is not the same in all, sizes first; empty for fewer than two samples, which are unmasked here."""
    if len(samples) < 2:  # noqa: PLR2004 -- nothing to compare
        return []
    headers = [{header.name: header.value for header in sample.headers} for sample in samples]
    names = dict.fromkeys(name for one in headers for name in one)
    rows = [
        Difference("key size", tuple(texts.size(sample.key_bytes) for sample in samples)),
        Difference("value size", tuple(texts.size(sample.value_bytes) for sample in samples)),
        *(Difference(name, _shown(name, tuple(one.get(name) for one in headers))) for name in names),
    ]
    return [row for row in rows if len(set(row.values)) > 1]


def _shown(name: str, values: tuple[str | None, ...]) -> tuple[str | None, ...]:
    if is_open(name):
        return values
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values), 1)}
    return tuple(None if value is None else f"masked, value {numbers[value]}" for value in values)
