"""Texts that people give and other people read."""

from typing import Annotated

from pydantic import StringConstraints

from collector.printed import LINE

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=LINE)]
"""A name."""
