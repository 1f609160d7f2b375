"""What a broker says about dead letters of share groups that it could not write (KIP-1191).

The line itself names no group; the exception on the line after it may.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from collector.contract.events import ShareDeadLetterLost
from collector.dialects.cause import Cause

LOST: Final = "Failed to write to DLQ, proceeding to ARCHIVED regardless."
TRIGGERS: Final = (LOST,)
_GROUP = re.compile(r"(?:share group: |groupId=)([^,\]\s]+?)(?=[,\]\s]|\.?$| is empty)")


def read(line: str, next_line: str) -> Iterator[Cause]:
    """The loss that the line reports; ``next_line`` is the line after it."""
    if LOST in line:
        match = _GROUP.search(next_line)
        group = match[1] if match else ""
        event = partial(
            ShareDeadLetterLost, consumergroup=group, message=f"{LOST} {next_line.strip()}".strip()
        )
        yield Cause(event, identity=(ShareDeadLetterLost.kind,))
