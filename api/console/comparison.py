"""What tells the samples of a group apart: headers and sizes whose values differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.console import texts
from api.schemas import Sample


@dataclass(frozen=True, slots=True)
class Difference:
    """One name and its value in every sample, in their order; None where a sample has no such header."""

    name: str
    values: tuple[str | None, ...]


def differing(samples: Sequence[Sample]) -> list[Difference]:
    """What is not the same in all, sizes first; empty for fewer than two samples."""
    if len(samples) < 2:  # noqa: PLR2004 -- nothing to compare
        return []
    headers = [{header.name: header.value for header in sample.headers} for sample in samples]
    names = dict.fromkeys(name for one in headers for name in one)
    rows = [
        Difference("key size", tuple(texts.size(sample.key_bytes) for sample in samples)),
        Difference("value size", tuple(texts.size(sample.value_bytes) for sample in samples)),
        *(Difference(name, tuple(one.get(name) for one in headers)) for name in names),
    ]
    return [row for row in rows if len(set(row.values)) > 1]
