"""A real Kafka, Connect and Streams on this machine that fail on command."""

from lab.errors import LabError
from lab.lab import Lab
from lab.sasl import SaslSsl
from lab.services import Logs
from lab.truth import Truth

__all__ = ["Lab", "LabError", "Logs", "SaslSsl", "Truth"]
