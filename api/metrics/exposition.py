"""One scrape: the store as it is now, in Prometheus text or OpenMetrics, whichever the scraper asks for.

Every metric of the catalogue is named in every scrape. What cannot be read whole has no samples, and
``deadwatch_store_up`` is 0: a sum is complete or absent.
"""

import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import Final, TypeVar

from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from sqlalchemy import Connection

from api.errors import ApiError
from api.kept import Kept
from api.metrics import catalog
from api.metrics.catalog import Kind, Metric
from api.metrics.samples import READERS, TIMED_READERS, Moment, Reader, Sample
from api.store import Store, reported
from collector.version import VERSION

MAX_LABEL_CHARS: Final = 256
DIGEST_CHARS: Final = 12
MOST_KNOWN: Final = 65_536
"""Samples of a metric whose labels are remembered."""
PLAIN: Final = 1_000_000
"""Larger numbers are written with an exponent."""
OPENMETRICS: Final = "application/openmetrics-text"

_UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_NAMES = frozenset(metric.name for metric in catalog.ALL)

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Told:
    """What a store tells: lines by metric, also with exemplars, and what depends on the moment."""

    lines: Mapping[str, str]
    traced: Mapping[str, str]
    timed: Sequence[Callable[[Moment], list[Sample]]]
    complete: bool


NOTHING: Final = Told({}, {}, (), complete=False)


class Exposition:
    """Scrapes of one store. What was committed before a scrape began is in it."""

    def __init__(self, store: Store) -> None:
        self._told = Kept(store, _told, lambda told: told.complete)

    def body(self, moment: Moment, accept: str) -> tuple[bytes, str]:
        """The body of a scrape and its content type."""
        _, content_type = choose_encoder(accept)
        try:
            told = self._told.get()
        except ApiError as error:
            logger.warning("nothing of the store can be scraped: %s", error)
            told = NOTHING
        samples = [
            *chain.from_iterable(samples(moment) for samples in told.timed),
            Sample(catalog.STORE_UP, (), told.complete),
            Sample(catalog.BUILD_INFO, (VERSION,), 1),
        ]
        traced = told.traced if content_type.startswith(OPENMETRICS) else {}
        return _written({**told.lines, **traced, **lines(samples)}, content_type), content_type


def encoded(samples: Iterable[Sample], content_type: str) -> bytes:
    """The families of the catalogue in its order, with the samples they have, in the format of the type."""
    told = list(samples)
    traced = with_exemplars(told) if content_type.startswith(OPENMETRICS) else {}
    return _written({**lines(told), **traced}, content_type)


def lines(samples: Iterable[Sample]) -> dict[str, str]:
    """The lines of the samples by metric.

    The library writes what stands before them; they are written here, because a row keeps its labels from
    scrape to scrape and only the value has to be written anew.
    """
    written: dict[str, list[str]] = defaultdict(list)
    for metric, labels, value, _ in samples:
        written[metric.name].append(f"{metric.name}{_labels(metric.labels)(labels)} {_number(value)}\n")
    return {name: "".join(told) for name, told in written.items()}


def with_exemplars(samples: Sequence[Sample]) -> dict[str, str]:
    """The lines of the metrics that have exemplars; only OpenMetrics has a place for them."""
    names = {sample.metric.name for sample in samples if sample.exemplar is not None}
    written: dict[str, list[str]] = {name: [] for name in names}
    for metric, labels, value, exemplar in samples:
        if metric.name in names:
            behind = "" if exemplar is None else exemplar
            written[metric.name].append(
                f"{metric.name}{_labels(metric.labels)(labels)} {_number(value)}{behind}\n"
            )
    return {name: "".join(told) for name, told in written.items()}


def _written(told: Mapping[str, str], content_type: str) -> bytes:
    parts = [
        part for metric in catalog.ALL for part in (_head(metric, content_type), told.get(metric.name, ""))
    ]
    return "".join([*parts, "# EOF\n" if content_type.startswith(OPENMETRICS) else ""]).encode()


def _told(connection: Connection) -> Told:
    """The samples of every reading that succeeds as a whole."""
    parts = [_read_part(connection, reader) for reader in READERS]
    timed = [_read_part(connection, reader) for reader in TIMED_READERS]
    samples = [*chain.from_iterable(part for part in parts if part is not None)]
    return Told(
        lines(samples),
        with_exemplars(samples),
        tuple(part for part in timed if part is not None),
        complete=None not in parts and None not in timed,
    )


def _read_part(connection: Connection, reader: Reader[T]) -> T | None:
    try:
        with reported():
            return reader.read(connection)
    except ApiError as error:
        logger.warning("%s withheld from the scrape: %s", ", ".join(m.name for m in reader.metrics), error)
        return None


@cache
def _head(metric: Metric, content_type: str) -> str:
    """Help and type of a family.

    To OpenMetrics gauge ``x`` and counter ``x_total`` are one family: there the latter has no type.
    """
    openmetrics = content_type.startswith(OPENMETRICS)
    if openmetrics and metric.kind is Kind.COUNTER and metric.family in _NAMES:
        family = Family(metric.name, metric.help, "unknown")
    else:
        family = Family(metric.family, metric.help, metric.kind)
    encode, _ = choose_encoder(content_type)
    return encode(_One(family)).decode().removesuffix("# EOF\n")


class _One(Collector):
    def __init__(self, family: Family) -> None:
        self._family = family

    def collect(self) -> Iterator[Family]:
        """The family."""
        yield self._family


@cache
def _labels(names: tuple[str, ...]) -> Callable[[tuple[str, ...]], str]:
    """Writes the labels of a line, by their names, as both formats have them."""

    @lru_cache(MOST_KNOWN)
    def written(values: tuple[str, ...]) -> str:
        told = (
            f'{name}="{_escaped(label_value(value))}"'
            for name, value in sorted(zip(names, values, strict=True))
        )
        return f"{{{','.join(told)}}}" if names else ""

    return written


def _number(value: float) -> str:
    if type(value) is int and 0 <= value < PLAIN:  # as the library writes it, in a fraction of the time
        return f"{value}.0"
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call]  # the library's
    return text


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def label_value(text: str) -> str:
    """``text`` made printable and bounded; what had to be changed still differs from all others."""
    if len(text) <= MAX_LABEL_CHARS and text.isprintable():
        return text
    clean = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text[:MAX_LABEL_CHARS])
    if clean == text:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return f"{clean[: MAX_LABEL_CHARS - DIGEST_CHARS - 1]}~{digest}"
