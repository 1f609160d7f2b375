"""A real Kafka, Connect and Streams on this machine that fail on command."""

from lab.lab import Lab
from lab.processes import LabError
from lab.truth import Truth

__all__ = ["Lab", "LabError", "Truth"]
