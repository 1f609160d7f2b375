"""The lines of a scrape: labels printable and bounded, otherwise exactly as the library writes them."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.core import Exemplar as TheirExemplar
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from api.metrics import catalog, exposition
from api.metrics.catalog import Kind
from api.metrics.exposition import MAX_LABEL_CHARS, OPENMETRICS, label_value, lines
from api.metrics.sample import Exemplar, Sample
from api.signals.pipeline import Moment, SourceRow

ACCEPT = f"{OPENMETRICS};version=1.0.0"


@pytest.mark.parametrize(
    ("one", "other"),
    [("a\x00", "a\x01"), ("x" * 300 + "a", "x" * 300 + "b"), ("\x00", "\N{REPLACEMENT CHARACTER}")],
    ids=["control characters", "long texts", "what looks like a replacement"],
)
def test_two_label_values_never_become_one(one: str, other: str) -> None:
    assert label_value(one) != label_value(other)
    assert max(len(label_value(one)), len(label_value(other))) <= MAX_LABEL_CHARS


def test_an_ordinary_label_value_stays_as_it_is() -> None:
    for kept in ("", "dlq.orders", "a b", "ünï😀", "x" * MAX_LABEL_CHARS):
        assert label_value(kept) == kept


@pytest.mark.parametrize(
    ("up", "age_ms", "expected"),
    [
        (True, 0, True),
        (True, 15_000, True),
        (True, 15_001, False),
        (True, -60_000, True),
        (False, 0, False),
        (False, 15_001, False),
    ],
    ids=["fresh", "at the limit", "silent", "a clock ahead of ours", "down by its own word", "down, silent"],
)
def test_a_source_is_up_while_it_says_so_and_is_heard(*, up: bool, age_ms: int, expected: bool) -> None:
    row = SourceRow("a", "log", up, "", since_ms=0, heartbeat_ms=100_000 - age_ms)
    assert row.is_up(Moment(100_000, 15_000)) is expected


class Collected(Collector):
    """The same samples, for the library to write."""

    def __init__(self, samples: list[Sample], formats: str) -> None:
        self._samples, self._openmetrics = samples, formats == ACCEPT

    def collect(self) -> Iterator[Family]:
        names = {metric.name for metric in catalog.ALL}
        for metric in catalog.ALL:
            alone = self._openmetrics and metric.kind is Kind.COUNTER and metric.family in names
            family = (
                Family(metric.name, metric.help, "unknown")
                if alone
                else Family(metric.family, metric.help, metric.kind)
            )
            for sample in self._samples:
                if sample.metric is metric:
                    values = map(label_value, sample.labels)
                    family.add_sample(
                        metric.name,
                        dict(zip(metric.labels, values, strict=True)),
                        sample.value,
                        exemplar=self._exemplar(sample),
                    )
            yield family

    def _exemplar(self, sample: Sample) -> TheirExemplar | None:
        exemplar = sample.exemplar
        if exemplar is None or not self._openmetrics:
            return None
        return TheirExemplar(
            {"trace_id": exemplar.trace_id, "span_id": exemplar.span_id}, 1, exemplar.at_ms / 1_000
        )


HEX = "0123456789abcdef"
EXEMPLARS = st.builds(
    Exemplar,
    st.text(HEX, min_size=32, max_size=32),
    st.text(HEX, min_size=16, max_size=16),
    st.integers(-1, 2**63 - 1),
)
SAMPLES = st.lists(
    st.sampled_from(catalog.ALL).flatmap(
        lambda metric: st.builds(
            Sample,
            st.just(metric),
            st.tuples(*(st.text(st.characters(codec="utf-8"), max_size=8) for _ in metric.labels)),
            st.one_of(st.integers(-(2**53), 2**63), st.floats(allow_nan=False)),
            st.none() | EXEMPLARS if metric.series is not None else st.none(),
        )
    ),
    max_size=12,
)


@pytest.mark.parametrize("accept", ["", ACCEPT])
@settings(max_examples=30)
@given(samples=SAMPLES)
def test_the_lines_are_those_that_the_library_writes(accept: str, samples: list[Sample]) -> None:
    encode, content_type = choose_encoder(accept)
    ours = {**lines(samples), **(lines(samples, traced=True) if accept else {})}
    assert exposition._written(ours, content_type) == encode(Collected(samples, accept))
