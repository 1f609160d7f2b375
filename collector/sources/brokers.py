"""The broker source: what one broker's own meters say of the dead letters of its share groups.

One snapshot of all groups at every change and as a heartbeat. Whoever adds the brokers up has the cluster: a
group's dead letters are counted by the leader of each partition it reads.
"""

from collections.abc import Callable
from typing import Final

import httpx2

from collector.contract.events import BrokerSnapshot
from collector.settings import BrokerSettings
from collector.sources import http_client, share_meters
from collector.sources.jolokia import JolokiaError, JolokiaTimeoutError
from collector.sources.share_meters import Meters
from collector.sources.snapshots import Snapshots
from collector.sources.source import Chunk, SourceDownError, SourceTimeoutError, State

MAX_GROUPS: Final = 2_000
"""How many groups one event holds."""


def label(settings: BrokerSettings) -> str:
    """The broker's name, or else the host and port of its agent."""
    url = httpx2.URL(settings.jolokia_url)
    return settings.name or (f"{url.host}:{url.port}" if url.port else url.host)


def source_name(settings: BrokerSettings) -> str:
    """The source's name."""
    return f"broker:{label(settings)}"


class BrokerSource:
    """Polls one broker's Jolokia agent."""

    kind = "broker"

    def __init__(
        self,
        settings: BrokerSettings,
        *,
        saved: State | None,
        kafka_cluster: str,
        heartbeat_interval_ms: int,
        clock: Callable[[], int],
    ) -> None:
        self.name = source_name(settings)
        self.poll_interval_ms = settings.poll_interval_ms
        self._settings = settings
        self._kafka_cluster = kafka_cluster
        self._client = http_client.client(settings.request_timeout_ms)
        self._snapshots = Snapshots(saved, heartbeat_interval_ms, clock)

    def poll(self) -> Chunk | None:
        """The snapshot, if it is due."""
        try:
            meters = share_meters.read(self._client, self._settings.jolokia_url)
        except JolokiaError as error:
            text = f"Jolokia of the broker {error}: its share-group meters are not known; "
            text += "check jolokia_url and the agent"
            if isinstance(error, JolokiaTimeoutError):
                raise SourceTimeoutError("reading Jolokia", text) from None
            raise SourceDownError(text) from None
        events, trouble = self._due(meters), _trouble(len(meters.groups))
        if not events and not trouble:
            return None
        return Chunk(events, self._snapshots.state(), trouble)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _due(self, meters: Meters) -> tuple[BrokerSnapshot, ...]:
        moment = self._snapshots.due(meters)
        if moment is None:
            return ()
        snapshot = BrokerSnapshot(
            source=self.name,
            position=moment.position,
            happened_at_ms=moment.now_ms,
            observed_at_ms=moment.now_ms,
            kafka_cluster=self._kafka_cluster,
            broker=label(self._settings),
            started_at_ms=meters.started_at_ms,
            share_groups=meters.groups[:MAX_GROUPS],
        )
        return (snapshot,)


def _trouble(groups: int) -> str:
    if groups <= MAX_GROUPS:
        return ""
    return f"the broker has meters of more than {MAX_GROUPS} share groups; those beyond are not counted"
