"""Records that a real Streams application drops: by reason, as many as the application itself counts."""

from collections import Counter

from deadwatch.contract.signals.stream_drops import StreamRecordDropped
from lab import Lab, Truth, drops
from tests.integration.redrive_place import Place
from tests.unit.collector.sources.logs.scanning import drain, log_source

COUNT = 3


def counted_by_the_application(lab: Lab) -> int:
    """Its ``dropped-records-total`` after the last act."""
    place = Place(lab.bootstrap_servers, drops.INPUT, drops.COUNTS)
    return int(place.read(drops.COUNTS)[-1].value or b"0")


def test_each_dropped_record_is_counted_once_by_its_reason(lab: Lab) -> None:
    before = lab.truth
    lab.drop_stream_records(COUNT)
    assert lab.truth - before == Truth(stream_records_dropped=COUNT * len(drops.REASON_OF))
    events, _ = drain(log_source(lab.drops_log))
    dropped = [event for event in events if isinstance(event, StreamRecordDropped)]
    assert {event.application for event in dropped} == {"drops"}
    assert Counter(event.reason for event in dropped) == dict.fromkeys(drops.REASON_OF, COUNT)
    assert len(dropped) == counted_by_the_application(lab)
    unnamed = {"null_key", "expired_window"}
    assert {event.task for event in dropped if event.reason not in unnamed} == {"0_0"}
