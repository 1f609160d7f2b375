"""The acts of the demo in their order, from a thread of their own: failures, and what is put back after them.

Each waits until the ones before have arrived, so that no failure delays what is measured of another; what
does not arrive in time is not waited for any longer, the table tells.
"""

import threading
import time
from collections.abc import Callable, Sequence

from deadwatch.api_client import RefusedError
from lab import Lab, LabError

RECORDS = 10
STALL_S = 16
ARRIVES_WITHIN_S = 30
LOOK_EVERY_S = 0.1

Act = tuple[str, Callable[[Lab], None]]

FAILURES: Sequence[Act] = (
    ("a Connect task blocks and is abandoned", lambda lab: lab.abandon_task()),
    (f"a share group rejects {RECORDS} records", lambda lab: lab.reject_share_records(RECORDS)),
    (f"a Connect sink meets {RECORDS} broken records", lambda lab: lab.break_connect_records(RECORDS)),
    (f"the broker stops for {STALL_S} s under Kafka Streams", lambda lab: lab.stall_broker(STALL_S)),
    ("the blocked task is released", lambda lab: lab.release_task()),
)


class Acts(threading.Thread):
    """Does everything; a daemon, because an act cannot be interrupted but its lab can end."""

    def __init__(
        self, lab: Lab, acts: Sequence[Act], say: Callable[[str], None], arrived: Callable[[], bool]
    ) -> None:
        super().__init__(name="acts", daemon=True)
        self.finished = False
        self.failure = ""
        self._lab, self._acts, self._say, self._arrived = lab, acts, say, arrived

    def run(self) -> None:
        """Do one after the other; the first that fails ends it."""
        try:
            for what, act in self._acts:
                self._say(what)
                act(self._lab)
                self._wait()
        except (LabError, RefusedError) as error:
            self.failure = str(error)
        else:
            self.finished = True

    def _wait(self) -> None:
        deadline_s = time.monotonic() + ARRIVES_WITHIN_S
        while not self._arrived() and time.monotonic() < deadline_s:
            time.sleep(LOOK_EVERY_S)
