"""Texts of others on our terminal: what would move its cursor or change its colours is shown, not done."""

import re
from typing import Final

UNPRINTED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printed(text: str) -> str:
    """The text with every control character but tab and line feed as its escape."""
    return UNPRINTED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
