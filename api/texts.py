"""Texts that people give and other people read in logs, tables and the audit."""

from typing import Annotated, Final

from pydantic import StringConstraints

PRINTED: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$"
"""One line, without what moves a terminal's cursor or turns the direction of writing."""

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=PRINTED)]
"""A name."""
