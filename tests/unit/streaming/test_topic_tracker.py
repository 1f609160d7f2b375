"""Where batches begin, what Spark has passed without a record, and what of it was deleted: counted once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka.protocol.consumer import IsolationLevel
from kafka.structs import OffsetAndTimestamp
from sqlalchemy.exc import OperationalError

from deadwatch.store.batch import Batch, Offsets, Present, SeriesDelta
from deadwatch.store.errors import OffsetsMovedError
from deadwatch.store.store import Store
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.progress import BEHIND_FOR, DEAD_LETTERS, LOOKED_AT
from streaming.settings import StreamingSettings
from streaming.topic_tracker import RightsChangedError, TopicsEndedError, TopicTracker
from tests.unit.deadwatch.store.suite import EMPTY
from tests.unit.deadwatch.store.test_handled import handled_event
from tests.unit.streaming.test_data_loss import records_missed

TOPIC = "orders.dlq"
HERE, THERE, NEW = (TOPIC, 0), (TOPIC, 1), (TOPIC, 2)
OTHER, ELSEWHERE = "payments.dlq", ("payments.dlq", 0)


class Kafka:
    """Topics as the admin client describes them; a topic without an id has gone, or is hidden from us."""

    def __init__(self) -> None:
        self.begin, self.end = {HERE: 0, THERE: 0}, {HERE: 50, THERE: 0}
        self.uncommitted, self.epoch = 0, 5
        self.ids = {TOPIC: "one"}
        self.error_code = UnknownTopicOrPartitionError.errno

    def describe_topics(self, topics: Iterable[str] | None = None) -> Sequence[Mapping[str, Any]]:
        return [self._described(topic) for topic in (self.ids if topics is None else topics)]

    def _described(self, topic: str) -> Mapping[str, Any]:
        if topic not in self.ids:
            return {"name": topic, "error_code": self.error_code, "partitions": []}
        partitions = [{"partition_index": number} for name, number in self.begin if name == topic]
        return {"name": topic, "error_code": 0, "topic_id": self.ids[topic], "partitions": partitions}

    def list_partition_offsets(
        self, wanted: Mapping[TopicPartition, OffsetSpec], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, OffsetAndTimestamp]:
        more = self.uncommitted if isolation is IsolationLevel.READ_UNCOMMITTED else 0
        end = {place: offset + more for place, offset in self.end.items()}
        offsets = {OffsetSpec.EARLIEST: self.begin, OffsetSpec.LATEST: end}
        return {at: OffsetAndTimestamp(offsets[spec][at], 0, self.epoch) for at, spec in wanted.items()}

    def close(self) -> None:
        pass


@dataclass
class Query:
    """A tracker with what it stands between, and the time that it is."""

    kafka: Kafka
    store: Store
    url: str
    now_ms: int = 1

    def __post_init__(self) -> None:
        self.tracker = TopicTracker(StreamingSettings(), self.store, lambda: self.now_ms)

    def missed(self) -> dict[str, int]:
        return {reason: value for (_, reason), value in records_missed(self.url).items()}

    def behind_ms(self, now_ms: int, end: int, passed: int) -> int | None:
        """How long dead letters have not been read to the end, by a look at this time; None: not known."""
        self.now_ms, self.kafka.end[HERE] = now_ms, end
        self.tracker.check({HERE: passed, THERE: 0})
        assert self.tracker.lag.figures[LOOKED_AT] == {"": now_ms}
        return self.tracker.lag.figures[BEHIND_FOR].get(DEAD_LETTERS)

    def merged(self, first: Offsets, ends: Offsets) -> bool:
        return self.store.apply(self.tracker.complete(read(first, ends)))


@pytest.fixture
def query(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Query]:
    kafka = Kafka()
    monkeypatch.setattr("streaming.cluster.connect", lambda _settings: kafka)
    with Store(url) as store:
        store.apply(replace(EMPTY, offsets={HERE: 10}, topic_ids={TOPIC: "one"}))
        query = Query(kafka, store, url)
        with query.tracker as tracker:
            tracker.settle()
            yield query


def read(first: Offsets, ends: Offsets) -> Batch:
    return replace(EMPTY, first_offsets=first, offsets=ends)


def test_a_batch_begins_where_the_one_before_it_has_ended(query: Query) -> None:
    first = query.tracker.complete(read({HERE: 10, THERE: 0}, {HERE: 20, THERE: 3}))
    second = query.tracker.complete(read({HERE: 21}, {HERE: 30}))
    third = query.tracker.complete(read({THERE: 3}, {THERE: 4}))
    assert [one.begins for one in (first, second, third)] == [{HERE: 10, THERE: 0}, {HERE: 20}, {THERE: 3}]
    assert first.topic_ids == {TOPIC: "one"}
    assert [query.store.apply(one) for one in (first, second, second, third)] == [True, True, False, True]
    assert query.store.offsets() == {HERE: 30, THERE: 4}


def test_a_record_before_the_begin_is_of_another_topic_and_is_refused(query: Query) -> None:
    with pytest.raises(TopicsEndedError, match=TOPIC):
        query.tracker.complete(read({HERE: 9}, {HERE: 20}))
    assert query.tracker.complete(read({HERE: 10}, {HERE: 20})).begins == {HERE: 10}


def test_markers_behind_the_last_record_are_not_waited_for(query: Query) -> None:
    query.kafka.end[HERE] = 11
    assert query.tracker.check({}) == {TOPIC: 1}
    assert query.tracker.check({HERE: 11, THERE: 0}) == {TOPIC: 0}
    assert (query.store.offsets(), query.missed()) == ({HERE: 11, THERE: 0}, {})
    assert query.tracker.complete(read({HERE: 11}, {HERE: 12})).begins == {HERE: 11}


def test_what_nobody_has_read_of_a_new_partition_is_behind(query: Query) -> None:
    query.kafka.begin[NEW], query.kafka.end[NEW] = 3, 8
    assert query.tracker.check({HERE: 49, THERE: 0}) == {TOPIC: 1 + 5}


def test_a_stream_is_behind_for_as_long_as_it_has_not_read_what_the_look_before_saw(query: Query) -> None:
    courses = (  # time, the topic's end, Spark's offset
        (1_000, 50, 40, None),  # what the next look finds is not known yet
        (6_000, 60, 50, 5_000),  # new records do not count against it
        (11_000, 70, 60, 5_000),
        (16_000, 900, 65, 10_000),
        (21_000, 900, 66, 15_000),
        (26_000, 900, 900, 0),
        (21_000, 950, 900, 0),  # the clock was set back
        (24_000, 950, 900, 3_000),
    )
    for *look, behind_ms in courses:
        assert query.behind_ms(*look) == behind_ms, look


def test_what_is_being_merged_is_not_read_yet(query: Query) -> None:
    batch = query.tracker.complete(read({HERE: 10, THERE: 0}, {HERE: 50}))
    for now_ms in (1_000, 6_000):  # the merge hangs
        query.now_ms = now_ms
        assert query.tracker.check({}) == {TOPIC: 40}
        assert DEAD_LETTERS not in query.tracker.lag.figures[BEHIND_FOR]
    query.store.apply(batch)
    assert query.tracker.check({}) == {TOPIC: 0}
    assert query.tracker.lag.figures[BEHIND_FOR][DEAD_LETTERS] == 0


def test_what_comes_while_the_store_is_away_is_not_read(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets = query.store.offsets

    def back_after_an_hour() -> Mapping[tuple[str, int], int]:
        monkeypatch.setattr(query.store, "offsets", offsets)
        query.now_ms, query.kafka.end[HERE] = 3_606_000, 900
        return offsets()

    monkeypatch.setattr(query.store, "offsets", back_after_an_hour)
    assert query.behind_ms(6_000, 50, 50) == 0
    assert query.behind_ms(3_611_000, 900, 50) == 3_605_000
    assert query.behind_ms(3_616_000, 900, 50) == 3_610_000


def test_a_restart_forgets_not_when_a_stream_had_read_all(query: Query) -> None:
    assert [query.behind_ms(6_000, 50, 50), query.behind_ms(11_000, 60, 50)] == [0, 5_000]
    query.store.note_figures(query.tracker.lag.figures)
    query.now_ms = 20_000
    with TopicTracker(StreamingSettings(), query.store, lambda: query.now_ms) as tracker:
        tracker.settle()
        tracker.check({})
        assert tracker.lag.figures[BEHIND_FOR][DEAD_LETTERS] == 14_000


def test_between_two_checks_markers_are_passed_too(query: Query) -> None:
    for topic_id, end in (("one", 11), ("another", 12)):
        query.kafka.ids[TOPIC] = topic_id
        query.tracker.advance({HERE: end})
        assert query.store.offsets() == {HERE: 11, THERE: 0}


def test_what_was_deleted_where_nothing_is_read_afterwards_is_counted_once(query: Query) -> None:
    query.kafka.begin[HERE] = 50
    for _ in range(2):
        assert query.tracker.check({HERE: 50}) == {TOPIC: 0}
        assert query.missed() == {"deleted_unread": 40}
    assert query.merged({HERE: 50}, {HERE: 60})
    assert query.missed() == {"deleted_unread": 40}


def test_what_is_deleted_of_a_new_partition_before_it_is_read_is_counted(query: Query) -> None:
    assert query.store.offsets()[THERE] == 0
    query.kafka.begin[THERE] = 7
    assert query.merged({THERE: 7}, {THERE: 9})
    assert query.missed() == {"deleted_unread": 7}


def test_what_a_batch_under_way_may_have_read_is_not_counted(query: Query) -> None:
    query.kafka.begin[HERE] = 40  # the records since 20 were read before they were deleted
    query.tracker.check({HERE: 20})
    assert query.merged({HERE: 20}, {HERE: 50})
    assert query.missed() == {"deleted_unread": 10}


def test_a_batch_that_was_read_and_is_not_merged_yet_is_not_overtaken(query: Query) -> None:
    query.kafka.begin[HERE] = 30
    batch = query.tracker.complete(read({HERE: 30}, {HERE: 50}))
    query.tracker.check({HERE: 20})
    assert query.store.apply(batch)
    assert (query.store.offsets(), query.missed()) == ({HERE: 50, THERE: 0}, {"deleted_unread": 20})


def test_where_an_answer_was_lost_the_query_begins_again_from_the_store(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_over = query.store.pass_over

    def lost(begins: Offsets, ends: Offsets, ids: Mapping[str, str], counts: Sequence[SeriesDelta]) -> None:
        pass_over(begins, ends, ids, counts)
        raise OperationalError("COMMIT", None, Exception("the server is gone"))

    query.kafka.begin[HERE] = 30
    with monkeypatch.context() as patched:
        patched.setattr(query.store, "pass_over", lost)
        with pytest.raises(OperationalError):
            query.tracker.check({HERE: 30})
    with pytest.raises(OffsetsMovedError, match="begins at 10, the store is at 30"):
        query.merged({HERE: 40}, {HERE: 50})
    with query.tracker:
        query.tracker.settle()
        assert query.merged({HERE: 30}, {HERE: 50})
    assert query.missed() == {"deleted_unread": 20}


def test_a_topic_that_is_shorter_than_what_was_read_of_it_goes_on_at_its_end(query: Query) -> None:
    query.kafka.end[HERE] = 4
    with pytest.raises(TopicsEndedError):
        query.tracker.check({})
    query.tracker.settle()
    assert query.store.offsets() == {HERE: 4, THERE: 0}
    assert query.tracker.check({}) == {TOPIC: 0}
    assert query.merged({HERE: 4}, {HERE: 6})


@pytest.mark.parametrize(
    ("looked", "epoch", "kept"),
    [(True, 6, 7), (True, 5, 12), (False, 6, 12)],
    ids=["another leader", "the same one, or one that is none any more", "nobody knows who led before"],
)
def test_of_what_a_topic_has_surely_lost_nothing_was_moved(
    query: Query, looked: bool, epoch: int, kept: int
) -> None:
    """What an open transaction hides now may be what was moved: its end may be lost."""
    query.store.apply(replace(EMPTY, events=(handled_event((0, 0, 12), (1, 0, 12), topic=TOPIC),)))
    if looked:
        query.tracker.check({})
    query.kafka.end[HERE], query.kafka.uncommitted, query.kafka.epoch = 4, 3, epoch
    with pytest.raises(TopicsEndedError):
        query.tracker.check({})
    query.tracker.settle()
    assert query.store.offsets() == {HERE: 4, THERE: 0}
    book = HandledBook(query.store._engine)
    of_each = [book.handled(TOPIC, "one", [partition]) for partition in (0, 1)]
    left_out = [[at for at in range(20) if one.reason(n, at)] for n, one in enumerate(of_each)]
    assert left_out == [[*range(kept)], [*range(12)]]


def test_a_topic_with_a_record_that_spark_cannot_read_is_left_out_while_it_has_it(query: Query) -> None:
    tracker = query.tracker
    tracker.note_untimely(HERE, 20)
    with pytest.raises(RightsChangedError, match=TOPIC):
        tracker.check({})
    assert tracker.settle() == {TOPIC}
    assert tracker.check({HERE: 50}) == {}
    assert query.store.offsets() == {HERE: 10, THERE: 0}
    query.kafka.begin[HERE] = 21
    with pytest.raises(RightsChangedError, match=TOPIC):
        tracker.check({})
    assert (tracker.settle(), tracker.untimely) == (frozenset(), {})
    assert query.merged({HERE: 21}, {HERE: 50})
    assert query.missed() == {"deleted_unread": 11}


def test_a_topic_is_left_out_while_it_has_any_such_record(query: Query) -> None:
    query.kafka.end[THERE] = 9
    for place, offset in ((HERE, 20), (THERE, 5)):
        query.tracker.note_untimely(place, offset)
    for place, begin, left_out in ((THERE, 6, {TOPIC}), (HERE, 20, {TOPIC}), (HERE, 21, set())):
        query.kafka.begin[place] = begin
        assert query.tracker.settle() == left_out, place


@pytest.mark.parametrize(("topic_id", "end"), [("another", 50), ("", 7)], ids=["by its id", "by its end"])
def test_a_topic_that_was_made_anew_with_such_a_record_is_read_again(
    query: Query, topic_id: str, end: int
) -> None:
    query.tracker.note_untimely(HERE, 20)
    assert query.tracker.settle() == {TOPIC}
    query.kafka.ids[TOPIC], query.kafka.end[HERE] = topic_id, end
    with pytest.raises(RightsChangedError, match=TOPIC):
        query.tracker.check({})
    assert (query.tracker.settle(), query.tracker.untimely) == (frozenset(), {})
    assert query.merged({HERE: 0} if topic_id else {HERE: 7}, {HERE: 30})


def test_events_are_not_left_out(query: Query) -> None:
    query.tracker.note_untimely((StreamingSettings().events_topic, 0), 20)
    assert query.tracker.untimely == {}


UNKNOWN, HIDDEN = UnknownTopicOrPartitionError.errno, TopicAuthorizationFailedError.errno


@pytest.mark.parametrize(
    ("error_code", "read_to", "lost"),
    [(UNKNOWN, 50, 0), (UNKNOWN, 20, 30), (HIDDEN, 20, 0)],
    ids=["deleted, all was read", "deleted with records that nobody has read", "hidden from us"],
)
def test_what_a_deleted_topic_held_unread_is_counted_once(
    query: Query, error_code: int, read_to: int, lost: int
) -> None:
    assert query.tracker.check({}) == {TOPIC: 40}
    assert query.merged({HERE: 10}, {HERE: read_to})
    del query.kafka.ids[TOPIC]
    query.kafka.error_code = error_code
    with pytest.raises(TopicsEndedError, match=TOPIC) if lost else nullcontext():
        assert query.tracker.check({}) == {}
    for _ in range(2):
        query.tracker.settle()
        assert query.tracker.check({}) == {}
        assert query.store.offsets() == {HERE: read_to + lost, THERE: 0}
        assert query.missed() == ({"topic_deleted": lost} if lost else {})


def test_a_batch_that_was_read_before_its_topic_was_deleted_is_merged_and_what_it_lacks_counted(
    query: Query,
) -> None:
    del query.kafka.ids[TOPIC], query.kafka.begin[HERE]
    assert query.merged({HERE: 20}, {HERE: 30})
    assert (query.store.offsets(), query.missed()) == ({HERE: 30, THERE: 0}, {"deleted_unread": 10})


def test_of_a_topic_that_is_made_anew_again_and_again_only_what_was_seen_is_lost(query: Query) -> None:
    assert query.tracker.check({}) == {TOPIC: 40}
    for topic_id in ("another", "a third one"):
        query.kafka.ids[TOPIC] = topic_id
        query.tracker.settle()
        assert query.missed() == {"topic_recreated": 40}
    assert query.merged({HERE: 0}, {HERE: 50})


@pytest.mark.parametrize("passed", [{}, {ELSEWHERE: 0}], ids=["by a batch", "by a look at the topics"])
def test_of_topics_that_were_found_each_is_held_to_its_id(query: Query, passed: Offsets) -> None:
    query.kafka.ids[OTHER], query.kafka.begin[ELSEWHERE], query.kafka.end[ELSEWHERE] = "other", 0, 9
    assert query.tracker.check(passed) == {TOPIC: 40, OTHER: 9}
    assert passed or query.merged({ELSEWHERE: 0}, {ELSEWHERE: 9})
    assert query.store.topic_ids() == {TOPIC: "one", OTHER: "other"}
    query.kafka.ids |= {TOPIC: "another", OTHER: "another"}
    for place in (HERE, ELSEWHERE):
        with pytest.raises(TopicsEndedError, match=place[0]):
            query.tracker.complete(read({place: 10}, {place: 20}))


def test_of_topics_that_redrives_have_moved_records_of_a_batch_says_what_is_left(query: Query) -> None:
    query.kafka.begin |= {HERE: 7, ELSEWHERE: 0}
    query.kafka.end[ELSEWHERE] = 9
    query.kafka.ids[OTHER] = "other"
    gone = handled_event((0, 0, 3), topic="gone.dlq")
    assert query.store.apply(replace(EMPTY, events=(gone,)))
    events = (handled_event((0, 0, 3), topic=TOPIC), handled_event((0, 0, 3), topic="no name of Kafka"))
    moved = query.tracker.complete(replace(read({ELSEWHERE: 0}, {ELSEWHERE: 9}), events=events))
    assert moved.present == {TOPIC: Present("one", {0: 7, 1: 0}), "gone.dlq": Present("", {})}
    assert moved.topic_ids == {OTHER: "other"}
    assert query.tracker.complete(read({ELSEWHERE: 9}, {ELSEWHERE: 9})).present == {}
