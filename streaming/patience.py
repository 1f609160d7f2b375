"""The store of the query: what it asks waits while the store is away, as long as that takes (KIP-580).

A batch is read once and merged when the store is back; nothing is read meanwhile. The trouble is said in one
line when it begins and when it changes, and its end in another. What does not pass by itself is raised.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Self, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from collector.contract.backoff import Backoff
from collector.contract.events import Position
from collector.health import unheard
from streaming.settings import StreamingSettings
from streaming.store.batch import Batch
from streaming.store.owner import Owner
from streaming.store.read_topics import Ended
from streaming.store.store import Store
from streaming.store.stream_figures import Figures
from streaming.store.trouble import is_passing, line
from streaming.telemetry import SILENT, Telemetry

T = TypeVar("T")

logger = logging.getLogger(__name__)


class PatientStore(Store):
    """A store that waits for its database until ``stop`` is set; then the trouble is raised."""

    def __init__(
        self,
        settings: StreamingSettings,
        stop: threading.Event,
        rng: Random,
        *,
        beat: Callable[[], None] = unheard,
        telemetry: Telemetry = SILENT,
    ) -> None:
        super().__init__(
            settings.store_url,
            max_series=settings.max_series,
            max_groups=settings.max_groups,
            samples_per_group=settings.samples_per_group,
            max_bucketed_series=settings.max_bucketed_series,
        )
        self._ended = stop
        self._rng = rng
        self._beat = beat
        self._telemetry = telemetry
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)

    def open(self) -> Self:
        """As ``Store.open``, when there is a database to open."""
        return self._patiently(super().open)

    def hold(self, owner: Owner, *, ttl_ms: int, stop: threading.Event, now_ms: Callable[[], int]) -> bool:
        """As ``Store.hold``."""
        hold = super().hold
        return self._patiently(lambda: hold(owner, ttl_ms=ttl_ms, stop=stop, now_ms=now_ms))

    def apply(self, batch: Batch) -> bool:
        """As ``Store.apply``; one whose answer was lost is found merged before."""
        apply, began_s = super().apply, time.monotonic()
        merged = self._patiently(lambda: apply(batch))
        if merged:
            self._telemetry.merged(batch, round((time.monotonic() - began_s) * 1_000))
        return merged

    def applied(self, query_id: str, batch_id: int) -> bool:
        """As ``Store.applied``."""
        applied = super().applied
        return self._patiently(lambda: applied(query_id, batch_id))

    def last_batches(self) -> dict[str, int]:
        """As ``Store.last_batches``."""
        return self._patiently(super().last_batches)

    def marks(self, sources: Iterable[str]) -> dict[str, Position]:
        """As ``Store.marks``."""
        names, marks = list(sources), super().marks
        return self._patiently(lambda: marks(names))

    def awaits_returns(self) -> bool:
        """As ``Store.awaits_returns``."""
        return self._patiently(super().awaits_returns)

    def redriven_topics(self) -> set[str]:
        """As ``Store.redriven_topics``."""
        return self._patiently(super().redriven_topics)

    def offsets(self) -> dict[tuple[str, int], int]:
        """As ``Store.offsets``."""
        return self._patiently(super().offsets)

    def topic_ids(self) -> dict[str, str]:
        """As ``Store.topic_ids``."""
        return self._patiently(super().topic_ids)

    def end_topics(self, ended: Sequence[Ended], kafka_cluster: str, now_ms: int) -> None:
        """As ``Store.end_topics``; what an answer that was lost has counted is not counted again."""
        end_topics = super().end_topics
        self._patiently(lambda: end_topics(ended, kafka_cluster, now_ms))

    def note_figures(self, figures: Figures) -> None:
        """As ``Store.note_figures``, which is not waited for."""
        super().note_figures(figures)
        self._telemetry.figures(figures)

    def last_commit_ms(self) -> int:
        """As ``Store.last_commit_ms``."""
        return self._patiently(super().last_commit_ms)

    def replace_with(self, other: Store) -> None:
        """As ``Store.replace_with``; done again where the answer was lost, which changes nothing."""
        replace_with = super().replace_with
        self._patiently(lambda: replace_with(other))

    def _patiently(self, call: Callable[[], T]) -> T:
        return patiently(call, "the query", self._backoff, self._ended, self._rng, beat=self._beat)


def patiently(
    call: Callable[[], T],
    who: str,
    backoff: Backoff,
    ended: threading.Event,
    rng: Random,
    *,
    beat: Callable[[], None] = unheard,
) -> T:
    """What ``call`` returns when the store works; the trouble is raised once ``ended`` is set.

    ``beat`` says at every attempt that the process lives.
    """
    failures, said = 0, ""
    while True:
        beat()
        try:
            answer = call()
        except SQLAlchemyError as error:
            if ended.is_set() or not is_passing(error):
                raise
            if line(error) != said:
                said = line(error)
                logger.error("%s; %s waits for it", said, who)  # noqa: TRY400 -- one line tells it all
            failures += 1
            ended.wait(backoff.delay_ms(failures, rng) / 1_000)
        else:
            if failures:
                logger.info("the store works again, after %d attempts", failures)
            return answer
