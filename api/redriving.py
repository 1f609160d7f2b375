"""The one part of the api that changes something: redrive orders are made, stopped and resumed."""

import uuid
from collections.abc import Callable
from functools import cached_property

from sqlalchemy import Engine, select

from api.settings import ApiSettings
from api.store import Store, reported, writing_engine
from streaming.redrive.clock import monotonic_ms, wait_ms
from streaming.redrive.creation import Door, Wish
from streaming.redrive.history import History
from streaming.redrive.order import OrderRequest
from streaming.redrive.scan import Bounds
from streaming.redrive.targets import TargetRules
from streaming.store import schema
from streaming.store.audit import Witness
from streaming.store.dlq_names import named_topics
from streaming.store.handled import HandledBook
from streaming.store.order_rows import StoredOrder
from streaming.store.orders import OrderBook


class Redriving:
    """Writes orders to the store that ``store`` reads; it has to be there."""

    def __init__(self, settings: ApiSettings, store: Store, now_ms: Callable[[], int]) -> None:
        self._settings, self._store, self._now_ms = settings, store, now_ms

    def create(self, request: OrderRequest, by: str, idempotency_key: str, also: Witness) -> StoredOrder:
        """The order, kept. Raises ``RedriveError``."""
        settings, topic = self._settings, request.dlq_topic
        with self._store.read() as connection:
            named = named_topics(connection)
            groups = schema.groups.c
            known = set(connection.scalars(select(groups.fingerprint).where(groups.dlq_topic == topic)))
        rules = TargetRules({}, settings.targets_allow, settings.dlq_topics, settings.dlq_topics_deny, named)
        wish = Wish(request, by, idempotency_key, known.__contains__)
        with reported():
            return self._door.create(wish, rules, self._book, also)

    def cancel(self, order: str, reason: str, also: Witness) -> StoredOrder:
        """Stop it for ever. Raises ``RedriveError``."""
        return self._changed(lambda book: book.cancel(order, reason, self._now_ms(), also))

    def pause(self, order: str, reason: str, also: Witness) -> StoredOrder:
        """Stop it for now. Raises ``RedriveError``."""
        return self._changed(lambda book: book.pause(order, reason, also))

    def resume(self, order: str, also: Witness) -> StoredOrder:
        """Let it go on. Raises ``RedriveError``."""
        return self._changed(lambda book: book.resume(order, also))

    def _changed(self, change: Callable[[OrderBook], StoredOrder]) -> StoredOrder:
        with self._store.read():
            pass  # says what a writer cannot: that there is no store yet, or one of another version
        with reported():
            return change(self._book)

    @cached_property
    def _engine(self) -> Engine:
        return writing_engine(self._settings.store_url)

    @cached_property
    def _book(self) -> OrderBook:
        return OrderBook(self._engine)

    @cached_property
    def _door(self) -> Door:
        settings = self._settings
        return Door(
            connection=settings.kafka,
            bounds=Bounds(settings.redrive_scan_max_records, settings.redrive_scan_timeout_ms),
            max_unconfirmed=settings.redrive_max_unconfirmed,
            now_ms=self._now_ms,
            monotonic_ms=monotonic_ms,
            new_id=lambda: str(uuid.uuid4()),
            history=History(HandledBook(self._engine), settings.events_topic, monotonic_ms, wait_ms),
        )
