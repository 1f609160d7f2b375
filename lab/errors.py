"""Errors of the lab.

* LabError
  * PortTakenError   another process was given a port between our choosing it and using it
"""


class LabError(Exception):
    """The lab could not start or an act did not happen; the message says what and where to look."""


class PortTakenError(LabError):
    """Starting again with other ports will do."""
