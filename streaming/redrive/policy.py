"""A policy as users ask for it and as the store keeps it; offsets are Kafka's, times in ms of the epoch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from collector.contract.topics import PARKED_SUFFIX, refuse_broken
from streaming.redrive.order import ErrorClass, OrderRequest, Selection, Status, Terms

Positions = Mapping[str, Mapping[int, int]]
"""By topic and partition: the first offset that no order of the policy has covered."""

MAX_FILTER_CHARS: Final = 4_000


class PolicyRequest(Terms):
    """What a user asks for."""

    dlq_topics: tuple[str, ...] = Field(
        min_length=1,
        max_length=100,
        description="Regular expressions; a dead letter topic matches one as a whole.",
    )
    filter: str | None = Field(None, min_length=1, max_length=MAX_FILTER_CHARS, description="CEL expression.")
    exclude_error_classes: tuple[ErrorClass, ...] = Field(
        (), max_length=100, description="Whole names; no wait mends such records."
    )
    excluded: Literal["park", "leave"] = Field(
        "park", description="What becomes of them: parked at once, or left where they are."
    )
    include_existing: bool = Field(
        default=False, description="Also what its topics hold when it is made; else what comes later."
    )
    enabled: bool = True

    @field_validator("dlq_topics")
    @classmethod
    def _refuse_broken_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return refuse_broken(patterns)

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.limits.max_records is not None:
            raise ValueError("limits.max_records would leave records behind for ever: leave it out")
        if len(self._expression()) > MAX_FILTER_CHARS:
            raise ValueError(
                f"filter and exclude_error_classes together are longer than {MAX_FILTER_CHARS} characters"
            )
        return self

    def covers(self, topic: str) -> bool:
        """Whether its records are this policy's; parked ones never are."""
        return not topic.endswith(PARKED_SUFFIX) and any(
            re.fullmatch(pattern, topic) for pattern in self.dlq_topics
        )

    def order(self, topic: str) -> OrderRequest:
        """What one of its orders asks for."""
        terms = {name: getattr(self, name) for name in Terms.model_fields}
        if self.excluded == "park":
            parked = (*self.retry.park_error_classes, *self.exclude_error_classes)
            terms["retry"] = self.retry.model_copy(
                update={"park_error_classes": tuple(dict.fromkeys(parked))}
            )
        return OrderRequest(dlq_topic=topic, selection=self._selection(), dry_run=False, **terms)

    def _selection(self) -> Selection:
        expression = self._expression()
        return Selection(filter=expression) if expression else Selection(all=True)

    def _expression(self) -> str:
        parts = [] if self.filter is None else [f"({self.filter})"]
        if self.exclude_error_classes and self.excluded == "leave":
            names = ", ".join(f'"{name}"' for name in self.exclude_error_classes)
            parts.append(f"!(error_class in [{names}])")
        return " && ".join(parts)


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it is kept; ``version`` counts its changes from 1, ``failures`` those in a row."""

    id: str
    version: int
    request: PolicyRequest
    changed_by: str
    created_at_ms: int
    changed_at_ms: int
    positions: Positions = field(default_factory=dict)
    last_topic: str = ""
    failures: int = 0
    status_reason: str = ""
    next_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest order of a policy."""

    id: str
    status: Status
    created_at_ms: int
