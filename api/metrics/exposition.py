"""One scrape: the store as it is now, in Prometheus text or OpenMetrics, whichever the scraper asks for.

Every metric of the catalogue is named in every scrape. What cannot be read whole has no samples, and
``deadwatch_store_up`` is 0: a sum is complete or absent.
"""

import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final

from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from sqlalchemy import Connection

from api.errors import ApiError
from api.metrics import catalog
from api.metrics.catalog import Kind, Metric
from api.metrics.samples import READERS, Moment, Reader, Sample
from api.store import Store, reported
from collector.version import VERSION

MAX_LABEL_CHARS: Final = 256
DIGEST_CHARS: Final = 12
MOST_KNOWN: Final = 65_536
"""Samples whose labels are remembered."""
OPENMETRICS: Final = "application/openmetrics-text"

_UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_NAMES = frozenset(metric.name for metric in catalog.ALL)

logger = logging.getLogger(__name__)


def expose(store: Store, moment: Moment, accept: str) -> tuple[bytes, str]:
    """The body of a scrape and its content type."""
    _, content_type = choose_encoder(accept)
    return encoded(read(store, moment), content_type), content_type


def encoded(samples: Iterable[Sample], content_type: str) -> bytes:
    """The families of the catalogue in its order, with the samples they have, in the format of the type.

    The library writes what stands before the samples; their lines are written here, because a row keeps its
    labels from scrape to scrape and only the value has to be written anew.
    """
    openmetrics = content_type.startswith(OPENMETRICS)
    lines: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        metric = sample.metric
        lines[metric.name].append(
            f"{metric.name}{_labels(metric.labels, sample.labels)} {_number(sample.value)}\n"
        )
    parts = [part for metric in catalog.ALL for part in (_head(metric, content_type), *lines[metric.name])]
    return "".join([*parts, "# EOF\n" if openmetrics else ""]).encode()


def read(store: Store, moment: Moment) -> list[Sample]:
    """The samples of every reading that succeeded as a whole, then how the store is and who we are."""
    parts: list[list[Sample] | None] = [None]
    try:
        with store.read() as connection:
            parts = [_read_part(connection, moment, reader) for reader in READERS]
    except ApiError as error:
        logger.warning("nothing of the store can be scraped: %s", error)
    return [
        *(sample for part in parts if part is not None for sample in part),
        Sample(catalog.STORE_UP, (), None not in parts),
        Sample(catalog.BUILD_INFO, (VERSION,), 1),
    ]


def _read_part(connection: Connection, moment: Moment, reader: Reader) -> list[Sample] | None:
    try:
        with reported():
            return reader.read(connection, moment)
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


@lru_cache(MOST_KNOWN)
def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """The labels of a line, by their names, as both formats have them."""
    told = (
        f'{name}="{_escaped(label_value(value))}"' for name, value in sorted(zip(names, values, strict=True))
    )
    return f"{{{','.join(told)}}}" if names else ""


def _number(value: float) -> str:
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
