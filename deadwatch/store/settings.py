"""Settings of the processes that have the store: streaming, redrive and api."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from deadwatch.contract.topics import EVENTS
from deadwatch.deadletter.settings import DeadLetterSettings
from deadwatch.orders.targets import TargetRules
from deadwatch.runtime.settings import TopicPatterns
from deadwatch.store.address import checked_url


class StoreSettings(DeadLetterSettings):
    """Settings of a process that reads dead letters and has the store."""

    store_url: Annotated[str, AfterValidator(checked_url)] = Field(
        "sqlite:///deadwatch-data/deadwatch.db",
        repr=False,
        description="sqlite:///FILE or postgresql://USER@HOST:PORT/DATABASE; PGPASSWORD is read.",
    )


class TargetSettings(StoreSettings):
    """Settings of a process that decides where dead letters may go."""

    targets_allow: TopicPatterns = Field(
        (".*",), description="Regular expressions; a target of a redrive matches one of them as a whole."
    )

    def target_rules(self, named: frozenset[str], partitions: Mapping[str, int] | None = None) -> TargetRules:
        """Which topics hold dead letters and which may be targets; ``named`` by configurations of others.

        Neither the topic of events is one, nor the one that it is by default: that may hold events of before.
        """
        return TargetRules(
            partitions or {},
            frozenset({EVENTS, self.events_topic}),
            self.targets_allow,
            self.dlq_topics,
            self.dlq_topics_deny,
            named,
        )
