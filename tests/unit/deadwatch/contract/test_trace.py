"""What a header says of the trace that its record belongs to."""

import re

import pytest

from deadwatch.contract.headers import TRACEPARENT_FORM, trace_facts

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize("end", ["-01", "-00", "-01-x"])
@pytest.mark.parametrize("version", ["00", "cc"])
def test_a_trace_is_told_whether_it_is_sampled_or_not_also_by_later_versions(version: str, end: str) -> None:
    header = f"{version}-{TRACE}-{SPAN}{end}"
    assert re.search(TRACEPARENT_FORM, header)
    assert trace_facts(header, 7) == {"trace_id": TRACE, "span_id": SPAN, "traced_ms": 7}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00-nonsense",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f'00-{TRACE}-{SPAN}-01 # {{x="1"}}',
    ],
)
def test_what_names_no_trace_is_none(header: str) -> None:
    assert not re.search(TRACEPARENT_FORM, header) or not trace_facts(header, 7)
