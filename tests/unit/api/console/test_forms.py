"""Forms of requests: what cannot be read is said beside its field."""

import pytest

from tests.unit.api.console_visit import Console


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("guards=5", "guards.settle_window_ms is given twice"),
        ('selection.records=[{"partition": 0, "offset": 1}, 3]', "this takes an object with fields"),
    ],
)
def test_a_setting_that_fits_no_field_is_refused_beside_it(
    operator: Console, setting: str, told: str
) -> None:
    fields = {"dlq_topic": "dlq.a", "select": "all", "target": "origin", "reason": "r", "also": setting}
    answer = operator.post("/redrives/new", csrf=operator.token("/redrives/new"), **fields)
    assert answer.status_code == 422
    assert told in answer.text.partition('id="also-problem"')[2].partition("<")[0]
