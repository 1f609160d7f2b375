"""``deadwatch demo``: a real Kafka that fails, the whole service beside it, the numbers as they arrive."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from deadwatch.demo_screen import Screen
from deadwatch.demo_show import DemoError, Show, tails
from deadwatch.demo_watch import Watch
from deadwatch.interruption import interruptible
from deadwatch.service import Options, configure, forget_variables
from deadwatch.supervisor import Supervisor
from deadwatch.up import require_free
from lab import Lab, LabError

INTERRUPTED = 130


def run(*, once: bool, port: int, picture: Path | None = None) -> int:
    """Run the demo; 0 when every figure was exact."""
    forget_variables()
    try:
        with interruptible(), TemporaryDirectory(prefix="deadwatch-demo-") as directory:
            print("starting Kafka, Connect and Streams", flush=True)
            with Lab(sasl=False) as lab:
                return _serve(lab, Path(directory), once=once, port=port, picture=picture)
    except (LabError, DemoError) as error:
        sys.stderr.write(f"deadwatch: {error}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED if once else 0


def _serve(lab: Lab, data: Path, *, once: bool, port: int, picture: Path | None) -> int:
    """The service beside the lab, and in it the demo."""
    service = configure(_options(lab, data, port))
    require_free(service.api.host, service.api.port)
    logs = data / "logs"
    logs.mkdir()
    service.admit_local_user()
    print(f"starting the service: {service.url}/docs  metrics: {service.url}/metrics", flush=True)
    with (
        running(Supervisor(service.programs(logs))) as alive,
        Watch(service.url) as watch,
        Screen() as screen,
    ):
        show = Show(lab, service, watch, screen, alive)
        try:
            show.wait_until_ready()
            held = show.provoke()
        except DemoError as error:
            raise DemoError(f"{error}\n{tails(logs)}") from None
        code = show.conclude(logs, held=held, picture=picture)
        if not once:
            show.linger()
    return code


def _options(lab: Lab, data: Path, port: int) -> Options:
    return Options(
        bootstrap_servers=lab.bootstrap_servers,
        connect_urls=(lab.connect_url,),
        jolokia_url=lab.connect_jolokia_url,
        broker_jolokia_urls=(lab.broker_jolokia_url,),
        logs=tuple(map(str, (lab.logs.broker, lab.logs.connect, lab.logs.streams))),
        data=data,
        port=port,
    )


@contextmanager
def running(supervisor: Supervisor) -> Iterator[Callable[[], bool]]:
    """The supervisor in a thread; gives whether it still runs. A second Ctrl-C kills the processes."""
    thread = Thread(target=supervisor.run, name="supervisor")
    thread.start()
    try:
        yield thread.is_alive
    finally:
        supervisor.switch.press()
        try:
            thread.join()
        except KeyboardInterrupt:
            supervisor.switch.press()
            thread.join()
