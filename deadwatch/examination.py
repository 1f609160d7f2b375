"""``deadwatch doctor``: which checks there are, in the order in which they are shown."""

from functools import partial

from deadwatch import checks_connect, checks_kafka, checks_machine, checks_store, doctor
from deadwatch.service import Service


def run(service: Service) -> int:
    """Look at the machine, then at Kafka and Connect; the exit code."""
    machine = (checks_machine.data, checks_store.store, checks_machine.port, checks_machine.logs)
    kafka = (checks_kafka.kafka, checks_connect.connect)
    return doctor.report(
        [
            checks_machine.python,
            checks_machine.java,
            checks_machine.archives,
            *(partial(check, service) for check in (*machine, *kafka)),
        ]
    )
