"""What a batch asks of its dead letters, and how Spark answers; ``few_letters`` answers for a small batch."""

from collections.abc import Mapping
from typing import Protocol

from pyspark.sql import DataFrame, Row

from streaming.aggregates import dead_letters, redrives
from streaming.aggregates.samples import Place, samples
from streaming.store.batch import Origins, Sample


class Letters(Protocol):
    """The dead letters of a batch."""

    def groups(
        self, kafka_cluster: str, *, samples_per_group: int, max_groups: int
    ) -> list[dead_letters.Group]:
        """The largest groups."""

    def samples(self, fingerprints: Mapping[Place, str]) -> tuple[Sample, ...]:
        """The records at these places, with the fingerprints of their groups."""

    def came_back(self) -> list[Row]:
        """The topics and orders that most came back to."""

    def origins(self, kafka_cluster: str) -> tuple[Origins, ...]:
        """Where the records of share groups' dead letters were, of those that have no headers of ours."""


class LettersInSpark:
    """The dead letters of a decoded frame."""

    def __init__(self, decoded: DataFrame) -> None:
        self._decoded = decoded

    def groups(
        self, kafka_cluster: str, *, samples_per_group: int, max_groups: int
    ) -> list[dead_letters.Group]:
        """The largest groups."""
        return dead_letters.groups(
            self._decoded, kafka_cluster, samples_per_group=samples_per_group, max_groups=max_groups
        )

    def samples(self, fingerprints: Mapping[Place, str]) -> tuple[Sample, ...]:
        """The records at these places, with the fingerprints of their groups."""
        return samples(self._decoded, fingerprints)

    def came_back(self) -> list[Row]:
        """The topics and orders that most came back to."""
        return redrives.came_back(self._decoded)

    def origins(self, kafka_cluster: str) -> tuple[Origins, ...]:
        """Where the records of share groups' dead letters were, of those that have no headers of ours."""
        return redrives.origins(self._decoded, kafka_cluster)
