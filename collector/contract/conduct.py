"""Names of what a collector counts of its own conduct, as its snapshots carry them."""

from typing import Final

DEAD_LETTERS: Final = "dead_letters"
PRODUCE_REQUESTS: Final = "produce_requests"
FAILED_PRODUCE_REQUESTS: Final = "failed_produce_requests"
LOST: Final = "dead_letters_lost"
ABANDONED_TASKS: Final = "abandoned_tasks"
ABANDONED_CONNECTORS: Final = "abandoned_connectors"
