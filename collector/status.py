"""How a source is, as events: one at every change, and one every heartbeat interval."""

from collector.contract.events import Position, SourceStatus
from collector.outbox import Outlet
from collector.sources.source import State

STATUS_SUFFIX = "#status"


class Status:
    """The latest word on a source; its positions are times in ms that only grow, over restarts too."""

    def __init__(
        self,
        subject: str,
        source_kind: str,
        *,
        saved: State | None,
        kafka_cluster: str,
        heartbeat_interval_ms: int,
    ) -> None:
        self.source = f"{subject}{STATUS_SUFFIX}"
        self._subject = subject
        self._source_kind = source_kind
        self._kafka_cluster = kafka_cluster
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._position_ms = int((saved or {}).get("position_ms", 0))
        self._sent: tuple[str, int] | None = None

    def announce(self, trouble: str, now_ms: int, outlet: Outlet) -> None:
        """Send what is due; what the queue does not take stays due."""
        event = self.due(trouble, now_ms)
        if event and outlet.offer((event,), {event.source: {"position_ms": event.position.epoch}}):
            self._position_ms = event.position.epoch
            self._sent = (trouble, now_ms)

    def due(self, trouble: str, now_ms: int) -> SourceStatus | None:
        """The event to send now, if one is due."""
        if self._sent is not None:
            said, at_ms = self._sent
            if said == trouble and 0 <= now_ms - at_ms < self._heartbeat_interval_ms:
                return None
        return SourceStatus(
            source=self.source,
            position=Position(max(now_ms, self._position_ms + 1)),
            happened_at_ms=now_ms,
            observed_at_ms=now_ms,
            kafka_cluster=self._kafka_cluster,
            subject=self._subject,
            source_kind=self._source_kind,
            up=not trouble,
            message=trouble,
        )
