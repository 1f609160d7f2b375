"""A real Kafka, Connect and Streams on this machine that fail on command."""

from lab.broker import SaslSsl
from lab.lab import Lab, Logs
from lab.processes import LabError
from lab.truth import Truth

__all__ = ["Lab", "LabError", "Logs", "SaslSsl", "Truth"]
