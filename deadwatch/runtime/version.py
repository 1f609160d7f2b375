"""Which version is installed."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("deadwatch")
"""The version of the installed distribution."""
