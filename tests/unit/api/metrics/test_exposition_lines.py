"""The lines of a scrape: labels printable and bounded, otherwise exactly as the library writes them."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.core import Exemplar as TheirExemplar
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder

from api.metrics import catalog, exposition
from api.metrics.catalog import Kind, Metric
from api.metrics.exposition import MAX_LABEL_CHARS, OPENMETRICS, label_value, lines
from api.metrics.sample import Exemplar, Sample

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


def family_of(metric: Metric, accept: str) -> Family:
    """To OpenMetrics a gauge and a counter of one name are one family: there the counter has no type."""
    if accept and metric.kind is Kind.COUNTER and any(one.name == metric.family for one in catalog.ALL):
        return Family(metric.name, metric.help, "unknown")
    return Family(metric.family, metric.help, metric.kind)


def by_the_library(samples: list[Sample], accept: str) -> bytes:
    encode: Any = choose_encoder(accept)[0]
    families = {metric: family_of(metric, accept) for metric in catalog.ALL}
    for metric, labels, value, ours in samples:
        named = dict(zip(metric.labels, map(label_value, labels), strict=True))
        trace = ours and {"trace_id": ours.trace_id, "span_id": ours.span_id}
        exemplar = TheirExemplar(trace, 1, ours.at_ms / 1_000) if ours and trace and accept else None
        families[metric].add_sample(metric.name, named, value, exemplar=exemplar)
    written: bytes = encode(SimpleNamespace(collect=families.values))
    return written


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
    _, content_type = choose_encoder(accept)
    ours = {**lines(samples), **(lines(samples, traced=True) if accept else {})}
    assert exposition._written(ours, content_type) == by_the_library(samples, accept)
