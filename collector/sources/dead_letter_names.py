"""Which topics the configurations of share groups and connectors name as their dead letter queues.

Whoever cannot be asked now keeps the last answer, over restarts too.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from kafka import KafkaAdminClient
from kafka.errors import AuthorizationError, CoordinatorLoadInProgressError, CoordinatorNotAvailableError

from collector.settings import ConnectSettings
from collector.sources import connect_rest, http_client, kafka_topics
from collector.sources.connect import source_name
from collector.sources.findings_connect import SOURCE
from collector.sources.findings_picture import DLQ, Connector, shown
from collector.sources.source import SourceDownError, State

SHARE_GROUPS: Final = "share groups"
SHARE_GROUP: Final = "share group"
_REFUSED: Final = "settings of share groups may not be read: allow us DescribeConfigs on cluster and groups"

Named = dict[str, list[str]]
"""Who sends to a topic, by topic."""


class Names:
    """The names of topics, by who was asked for them.

    ``queues`` and ``connectors`` are the last answers whole, None where there was none.
    """

    def __init__(self, clusters: Sequence[ConnectSettings], saved: State | None) -> None:
        self._clients = {
            source_name(one): (
                one.url,
                http_client.client(one.request_timeout_ms),
            )
            for one in clusters
        }
        known = {SHARE_GROUPS, *self._clients}
        self.queues: Mapping[str, str | None] | None = None
        self.connectors: dict[str, Mapping[str, Connector] | None] = dict.fromkeys(self._clients)
        self._named: dict[str, Named] = {
            whom: named for whom, named in (saved or {}).get("named", {}).items() if whom in known
        }

    def ask_connect(self) -> None:
        """Learn what sinks name; that a cluster is away is for its own source to say."""
        for whom, (url, client) in self._clients.items():
            self.connectors[whom] = None
            with suppress(SourceDownError):
                told = connect_rest.connectors(client, url)
                sinks = {name: one.says(DLQ) for name, one in told.items() if one.kind != SOURCE}
                self._named[whom] = _named(sinks, "connector")
                self.connectors[whom] = told

    def ask_share_groups(self, admin: KafkaAdminClient) -> Iterator[str]:
        """Learn what share groups name; yields what went wrong. Raises ``KafkaError``."""
        self.queues = None
        try:
            queues = kafka_topics.share_group_queues(admin)
        except AuthorizationError:
            yield _REFUSED
            return
        except (CoordinatorLoadInProgressError, CoordinatorNotAvailableError):
            yield "a broker is still loading its groups; what is known of share groups stays"
            return
        self.queues = queues
        before = self._named.get(SHARE_GROUPS, {})
        self._named[SHARE_GROUPS] = _named(queues, SHARE_GROUP)
        if refused := {f"{SHARE_GROUP} {group}" for group, queue in queues.items() if queue is None}:
            yield _REFUSED
            for topic, whose in before.items():
                if kept := [who for who in whose if who in refused]:
                    self._named[SHARE_GROUPS].setdefault(topic, []).extend(kept)

    def topics(self) -> frozenset[str]:
        """Every topic that is named."""
        return frozenset(topic for named in self._named.values() for topic in named)

    def of(self, topic: str) -> str:
        """Who names it, as people read it."""
        every = sorted(who for named in self._named.values() for who in named.get(topic, ()))
        return shown(every)

    def state(self) -> dict[str, dict[str, Named]]:
        """What to save."""
        return {"named": dict(self._named)}

    def close(self) -> None:
        """Let go of the connections."""
        for _, client in self._clients.values():
            client.close()


def _named(queues: Mapping[str, str | None], whose: str) -> Named:
    named: Named = {}
    for name, topic in queues.items():
        if topic:
            named.setdefault(topic, []).append(f"{whose} {name}")
    return named
