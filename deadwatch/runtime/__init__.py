"""What every process needs to run: its life, health, Kafka connections, settings, logs and telemetry."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("deadwatch")
"""The version of the installed distribution."""
