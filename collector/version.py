"""The version of the whole house, as it was installed."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("deadwatch")
