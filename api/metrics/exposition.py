"""One scrape: the store as it is now, in Prometheus text or OpenMetrics, whichever the scraper asks for.

Every metric of the catalogue is named in every scrape. What cannot be read whole has no samples, and
``deadwatch_store_up`` is 0: a sum is complete or absent.
"""

import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import Final

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.utils import floatToGoString
from sqlalchemy import Connection

from api.cache import CommitCache
from api.errors import ApiError
from api.metrics import catalog
from api.metrics.catalog import Kind, Metric
from api.metrics.sample import Sample
from api.metrics.samples import READERS, OfMoment
from api.signals.pipeline import Moment
from api.store import Store, database_errors
from deadwatch.runtime.version import VERSION

MAX_LABEL_CHARS: Final = 256
DIGEST_CHARS: Final = 12
MOST_KNOWN: Final = 65_536
"""Samples of a metric whose labels are remembered."""
PLAIN: Final = 1_000_000
"""Larger numbers are written with an exponent."""
OPENMETRICS: Final = "application/openmetrics-text"
_UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_NAMES = frozenset(metric.name for metric in catalog.ALL)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoreSamples:
    """What was read from the store: lines by metric, without and with exemplars, and samples that depend on
    time.
    """

    lines: Mapping[str, str]
    traced: Mapping[str, str]
    timed: Sequence[OfMoment]
    complete: bool


NOTHING: Final = StoreSamples({}, {}, (), complete=False)


class Exposition:
    """Scrapes of one store. What was committed before a scrape began is part of it."""

    def __init__(self, store: Store) -> None:
        self._cached = CommitCache(store, _read_store, lambda found: found.complete)

    def body(self, moment: Moment, accept: str) -> tuple[bytes, str]:
        """The body of a scrape and its content type."""
        content_type = CONTENT_TYPE_LATEST if _takes_openmetrics(accept) else CONTENT_TYPE_PLAIN_0_0_4
        try:
            found = self._cached.get()
        except ApiError as error:
            log.warning("nothing of the store can be scraped: %s", error)
            found = NOTHING
        samples = [
            *chain.from_iterable(samples(moment) for samples in found.timed),
            Sample(catalog.STORE_UP, (), found.complete),
            Sample(catalog.BUILD_INFO, (VERSION,), 1),
        ]
        traced = found.traced if content_type.startswith(OPENMETRICS) else {}
        return _written({**found.lines, **traced, **lines(samples)}, content_type), content_type


def _takes_openmetrics(accept: str) -> bool:
    """Whether a scraper takes OpenMetrics, in no other version than 1.0.0.

    The library would take any version at its word, and fail at one that is no number.
    """
    for accepted in accept.split(","):
        kind, *parameters = (part.strip() for part in accepted.split(";"))
        versions = {part for part in parameters if part.startswith("version=")}
        if kind == OPENMETRICS and versions <= {"version=1.0.0"}:
            return True
    return False


def lines(samples: Sequence[Sample], *, traced: bool = False) -> dict[str, str]:
    """The lines of the samples by metric; ``traced``: of the metrics that have exemplars alone, with them.

    Only OpenMetrics has a place for exemplars. The library would write all of a line at every scrape, of
    which only the value is new.
    """
    names = {sample.metric.name for sample in samples if sample.exemplar is not None} if traced else _NAMES
    written: dict[str, list[str]] = defaultdict(list)
    for metric, labels, value, exemplar in samples:
        if metric.name in names:
            written[metric.name].append(_line(metric, labels, value, (traced and exemplar) or ""))
    return {name: "".join(parts) for name, parts in written.items()}


def _line(metric: Metric, labels: tuple[str, ...], value: float, behind: object = "") -> str:
    return f"{metric.name}{_labels(metric.labels)(labels)} {_number(value)}{behind}\n"


def _written(lines_of: Mapping[str, str], content_type: str) -> bytes:
    parts = [
        part
        for metric in catalog.ALL
        for part in (_head(metric, content_type), lines_of.get(metric.name, ""))
    ]
    return "".join([*parts, "# EOF\n" if content_type.startswith(OPENMETRICS) else ""]).encode()


def _read_store(connection: Connection) -> StoreSamples:
    """The samples of every reader that succeeds as a whole."""
    samples: list[Sample] = []
    timed: list[OfMoment] = []
    complete = True
    for reader in READERS:
        try:
            with database_errors(), connection.begin_nested():  # PostgreSQL: else none behind it can be read
                found = reader.read(connection)
                if callable(found):
                    timed.append(found)
                else:
                    samples += list(found)
        except ApiError as error:
            complete = False
            names = ", ".join(metric.name for metric in reader.metrics)
            log.warning("%s withheld from the scrape: %s", names, error)
    return StoreSamples(lines(samples), lines(samples, traced=True), timed, complete)


@cache
def _head(metric: Metric, content_type: str) -> str:
    """The lines HELP and TYPE of a family; Prometheus text knows no info.

    To OpenMetrics gauge ``x`` and counter ``x_total`` are one family: there the counter gets the type
    unknown.
    """
    name, kind = metric.name, str(metric.kind)
    if not content_type.startswith(OPENMETRICS):
        kind = Kind.GAUGE if metric.kind is Kind.INFO else kind
    elif metric.kind is Kind.COUNTER and metric.family in _NAMES:
        kind = "unknown"
    else:
        name = metric.family
    return f"# HELP {name} {metric.help}\n# TYPE {name} {kind}\n"


@cache
def _labels(names: tuple[str, ...]) -> Callable[[tuple[str, ...]], str]:
    """Writes the labels of a line, by their names, as both formats have them."""

    @lru_cache(MOST_KNOWN)
    def written(values: tuple[str, ...]) -> str:
        pairs = (
            f'{name}="{_escaped(label_value(value))}"'
            for name, value in sorted(zip(names, values, strict=True))
        )
        return f"{{{','.join(pairs)}}}" if names else ""

    return written


def _number(value: float) -> str:
    if type(value) is int and 0 <= value < PLAIN:  # as the library writes it, in a fraction of the time
        return f"{value}.0"
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call]  # the library's
    return text


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def label_value(text: str) -> str:
    """``text`` made printable and bounded; a text that had to be changed still differs from all others."""
    if len(text) <= MAX_LABEL_CHARS and text.isprintable():
        return text
    clean = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text[:MAX_LABEL_CHARS])
    if clean == text:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return f"{clean[: MAX_LABEL_CHARS - DIGEST_CHARS - 1]}~{digest}"
