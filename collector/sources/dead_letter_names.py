"""Which topics the configurations of share groups and connectors name as their dead letter queues.

Whoever cannot be asked now keeps the last answer, over restarts too.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import httpx2
from kafka import KafkaAdminClient
from kafka.errors import AuthorizationError

from collector.settings import ConnectSettings
from collector.sources import connect_rest, kafka_topics
from collector.sources.connect import source_name
from collector.sources.source import SourceDownError, State

SHARE_GROUPS: Final = "share groups"
MAX_SHOWN: Final = 5


class Names:
    """The names of topics, by who was asked for them."""

    def __init__(self, clusters: Sequence[ConnectSettings], saved: State | None) -> None:
        self._clients = {
            source_name(one): (
                one.url,
                httpx2.Client(timeout=one.request_timeout_ms / 1_000, trust_env=False),
            )
            for one in clusters
        }
        known = {SHARE_GROUPS, *self._clients}
        self._named: dict[str, kafka_topics.Named] = {
            whom: named for whom, named in (saved or {}).get("named", {}).items() if whom in known
        }

    def ask_connect(self) -> None:
        """Learn what connectors name; that a cluster is away is for its own source to say."""
        for whom, (url, client) in self._clients.items():
            with suppress(SourceDownError):
                self._named[whom] = connect_rest.named_by_connectors(client, url)

    def ask_share_groups(self, admin: KafkaAdminClient) -> Iterator[str]:
        """Learn what share groups name; yields what went wrong. Raises ``KafkaError``."""
        try:
            self._named[SHARE_GROUPS] = kafka_topics.named_by_share_groups(admin)
        except AuthorizationError:
            yield "settings of share groups may not be read: allow us DescribeConfigs on cluster and groups"

    def topics(self) -> frozenset[str]:
        """Every topic that is named."""
        return frozenset(topic for named in self._named.values() for topic in named)

    def of(self, topic: str) -> str:
        """Who names it, as people read it."""
        every = sorted(who for named in self._named.values() for who in named.get(topic, ()))
        more = [f"{len(every) - MAX_SHOWN} more"] if len(every) > MAX_SHOWN else []
        return ", ".join([*every[:MAX_SHOWN], *more])

    def state(self) -> dict[str, dict[str, kafka_topics.Named]]:
        """What to save."""
        return {"named": dict(self._named)}

    def close(self) -> None:
        """Let go of the connections."""
        for _, client in self._clients.values():
            client.close()
