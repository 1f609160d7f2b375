"""What a broker logs about dead letters of share groups that it could not write (KIP-1191).

The line itself names no group. The exception on the line after it may; else the same thread has just logged
which records it could not write, and for which group. That line is no loss of its own.
"""

import re
from typing import Final

from collector.sources.logs.dialects.cause import Cause, reported
from deadwatch.contract.events import ShareDeadLetterLost

LOST: Final = "Failed to write to DLQ, proceeding to ARCHIVED regardless."
TRIGGERS: Final = (LOST, "ShareGroupDLQRecordParameter[groupId")
_GROUP = re.compile(r"(?:share group:? |groupId=)([^,\]\s]+?)(?=[,\]\s]|\.?$| is empty)")
_UNWRITTEN = re.compile(
    r"(?:Exhausted max retries |Unable to (?:produce |create |find node )|Received empty |Response for RPC )"
    r".*?ShareGroupDLQRecordParameter\[groupId=([^,\]\s]+)"
)


def read(line: str, next_line: str, unwritten: str) -> tuple[str, list[Cause]]:
    """The loss that the line reports; ``next_line`` is the line after it in its entry.

    ``unwritten`` is the group whose records could not be written last, "" for none; its value after the line
    comes back.
    """
    if match := _UNWRITTEN.search(line):
        return match[1], []
    if LOST not in line:
        return unwritten, []
    match = _GROUP.search(next_line)
    group = match[1] if match else unwritten
    message = f"{LOST} {next_line.strip()}".strip()
    return "", [reported(ShareDeadLetterLost, consumergroup=group, message=message)]
