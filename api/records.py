"""Letters as answers: rendered, and masked unless the caller may see them."""

from dataclasses import dataclass

from api.browsing.browser import Found
from api.browsing.masking import is_open, masked
from api.browsing.payload import Renderer, Shown, View
from api.record_schemas import DeadLetterRecord, DeadLetterRecords, Payload, RecordHeader, Unread
from api.times import instant
from streaming.letter import Letter


@dataclass(frozen=True, slots=True)
class Presentation:
    """How payloads are shown."""

    renderer: Renderer
    view: View
    unmasked: bool

    def page(self, found: Found) -> DeadLetterRecords:
        """A page of records, and how far Kafka has been looked through."""
        return DeadLetterRecords(
            items=[self.record(letter) for letter in found.letters],
            next=found.next,
            records_read=found.read,
            unread=[
                Unread(partition=partition, first_offset=first, end_offset=end)
                for partition, (first, end) in found.left.items()
            ],
            unread_offsets=sum(end - first for first, end in found.left.values()),
            filter_problems=dict(found.problems),
        )

    def record(self, letter: Letter) -> DeadLetterRecord:
        """One record."""
        return DeadLetterRecord(
            topic=letter.topic,
            partition=letter.partition,
            offset=letter.offset,
            timestamp=instant(letter.timestamp_ms),
            dialect=letter.dialect,
            source_topic=letter.source_topic,
            source_partition=letter.source_partition,
            source_offset=letter.source_offset,
            consumergroup=letter.consumergroup,
            connector=letter.connector,
            error_class=letter.error_class,
            message=letter.message,
            fingerprint=letter.fingerprint,
            attempts=letter.attempts,
            key=self._payload(letter.key),
            value=self._payload(letter.value),
            headers=[self._header(name, raw) for name, raw in letter.headers],
        )

    def _payload(self, raw: bytes | None) -> Payload:
        return _answer(raw, self.renderer.show(raw, self.view), masks=not self.unmasked)

    def _header(self, name: str, raw: bytes | None) -> RecordHeader:
        masks = not self.unmasked and not is_open(name)
        shown = self.renderer.header(raw)
        return RecordHeader(
            name=name.encode(errors="replace").decode(), value=_answer(raw, shown, masks=masks)
        )


def _answer(raw: bytes | None, shown: Shown, *, masks: bool) -> Payload:
    told = masked(shown) if masks else shown
    return Payload(
        format=told.format,
        content=told.content,
        size_bytes=None if raw is None else len(raw),
        schema_id=told.schema_id,
        masked=masks and raw is not None,
        cut=told.cut,
        note=told.note,
    )
