"""Texts of others where people read them: in logs, on terminals, in names and reasons.

What would begin a line of its own, move a terminal's cursor, change its colours or turn the direction of
writing is shown as its escape, or refused where it is ours to refuse.
"""

import re
from typing import Final

CONTROL: Final = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
LINE: Final = rf"^[^{CONTROL}]*$"
"""What one line may hold; a pattern for Python and for pydantic."""

_UNPRINTED: Final = re.compile(f"[{CONTROL}]")


def one_line(text: str) -> str:
    """The text with every control character but the tab as its escape."""
    return _UNPRINTED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
