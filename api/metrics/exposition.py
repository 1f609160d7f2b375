"""One scrape: the store as it is now, in Prometheus text or OpenMetrics, whichever the scraper asks for.

Every metric of the catalogue is named in every scrape. What cannot be read whole has no samples, and
``deadwatch_store_up`` is 0: a sum is complete or absent.
"""

import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from sqlalchemy import Connection

from api.errors import ApiError
from api.metrics import catalog
from api.metrics.catalog import Kind, Metric
from api.metrics.samples import READERS, Moment, Reader, Sample
from api.store import Store, reported
from collector.version import VERSION

MAX_LABEL_CHARS: Final = 256
DIGEST_CHARS: Final = 12
OPENMETRICS: Final = "application/openmetrics-text"

_UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_NAMES = frozenset(metric.name for metric in catalog.ALL)

logger = logging.getLogger(__name__)


def expose(store: Store, moment: Moment, accept: str) -> tuple[bytes, str]:
    """The body of a scrape and its content type."""
    encode, content_type = choose_encoder(accept)
    scrape = Scrape(read(store, moment), openmetrics=content_type.startswith(OPENMETRICS))
    return encode(scrape), content_type


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


class Scrape(Collector):
    """The families of one scrape, in the order of the catalogue."""

    def __init__(self, samples: Iterable[Sample], *, openmetrics: bool) -> None:
        self._samples: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            self._samples[sample.metric.name].append(sample)
        self._openmetrics = openmetrics

    def collect(self) -> Iterator[Family]:
        """Every metric of the catalogue, with the samples it has."""
        for metric in catalog.ALL:
            family = self._family(metric)
            for sample in self._samples.get(metric.name, ()):
                values = map(label_value, sample.labels)
                family.add_sample(metric.name, dict(zip(metric.labels, values, strict=True)), sample.value)
            yield family

    def _family(self, metric: Metric) -> Family:
        """To OpenMetrics gauge ``x`` and counter ``x_total`` are one family: there the latter has no type."""
        if self._openmetrics and metric.kind is Kind.COUNTER and metric.family in _NAMES:
            return Family(metric.name, metric.help, "unknown")
        return Family(metric.family, metric.help, metric.kind)


def label_value(text: str) -> str:
    """``text`` made printable and bounded; what had to be changed still differs from all others."""
    if len(text) <= MAX_LABEL_CHARS and text.isprintable():
        return text
    clean = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text[:MAX_LABEL_CHARS])
    if clean == text:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return f"{clean[: MAX_LABEL_CHARS - DIGEST_CHARS - 1]}~{digest}"
