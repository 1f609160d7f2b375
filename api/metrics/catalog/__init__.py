"""Every metric of the service, declared once: users' dashboards, alerts and scripts rely on these names.

The list is closed: what is not here cannot be exported, and what is here is named in every scrape, with or
without samples. A counter stands on one series of the store, with the same labels; that of a signal is
made from its declaration in ``deadwatch.contract.signals``.
"""

from typing import Final

from api.metrics import Kind as Kind
from api.metrics import Metric as Metric
from api.metrics import counter as counter
from api.metrics.catalog import observed, pipeline
from api.metrics.catalog.observed import *  # noqa: F403 -- one list for those who read it
from api.metrics.catalog.pipeline import *  # noqa: F403 -- as above
from deadwatch.contract import signals

ALL: Final[tuple[Metric, ...]] = tuple(
    dict.fromkeys((*observed.OBSERVED_METRICS, *pipeline.PIPELINE_METRICS, *map(counter, signals.ALL)))
)
"""In the order of a scrape."""
