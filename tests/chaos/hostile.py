"""What a hostile network, and who stops processes in it, do to a redrive: a fault each, drawn from a seed."""

import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from subprocess import Popen

from lab.broker import LoneBroker
from lab.faults import Api, At, Cut, Delay, Fault, Late, Partition
from lab.proxy import Proxy
from tests.chaos.redrive_workers import Workers, end
from tests.waiting import eventually, until

REQUEST_TIMEOUT_MS = 1_000
LATE_S = 2.5
"""Beyond the client's patience with a request, within that of a transaction."""
WITHIN_S = 60
PAUSE = threading.Event()
OF_A_TRANSACTION = (
    Api.PRODUCE,
    Api.ADD_PARTITIONS_TO_TXN,
    Api.ADD_OFFSETS_TO_TXN,
    Api.TXN_OFFSET_COMMIT,
    Api.END_TXN,
)


@dataclass
class Scene:
    """Where faults happen: a broker, the proxy before it, and the workers of one order."""

    broker: LoneBroker
    proxy: Proxy
    workers: Workers
    worker: Popen[str]

    def works(self) -> bool:
        """Whether the worker has not ended yet."""
        return self.worker.poll() is None

    def meets(self, fault: Fault) -> bool:
        """Let the fault happen; false where the worker ends before it does."""
        self.proxy.inject(fault)
        until(lambda: fault.happened.is_set() or not self.works(), "the fault to happen", WITHIN_S)
        self.proxy.inject(Fault())
        return fault.happened.is_set()

    def replace_worker(self) -> None:
        """Start the next worker, and forget the one before."""
        self.worker = self.workers.start()

    def close(self) -> None:
        """End the worker."""
        end(self.worker)


Act = Callable[[Scene], bool]
"""Returns when the fault is over; false where nothing happened, as the order had ended before."""


def cut(rng: Random, at: At) -> Act:
    """A connection ends, and the client does not know whether the broker has its request."""
    fault = Cut(rng.choice(OF_A_TRANSACTION), at)
    return lambda scene: scene.meets(fault)


def late(rng: Random) -> Act:
    """A request comes when its client has sent it again."""
    fault = Late(rng.choice(OF_A_TRANSACTION), LATE_S)
    return lambda scene: scene.meets(fault)


def delayed_end(rng: Random) -> Act:
    """The end of a transaction arrives in the middle of the next one."""
    fault = Delay(Api.END_TXN, rng.choice(OF_A_TRANSACTION), rng.randint(0, 1))
    return lambda scene: scene.meets(fault)


def partition(rng: Random, *, requests: bool, answers: bool) -> Act:
    """Nothing passes for a while; connections stay."""
    lasts_s = rng.uniform(0.5, 6)
    fault = Partition(lasts_s, requests=requests, answers=answers)

    def act(scene: Scene) -> bool:
        scene.proxy.inject(fault)
        until(lambda: fault.over or not scene.works(), "the end of the partition", WITHIN_S)
        return fault.happened.is_set()

    return act


def kill_worker(rng: Random) -> Act:
    """SIGKILL; the next worker comes at once, or waits for a moment."""
    wait_s = rng.choice((0.0, rng.random()))

    def act(scene: Scene) -> bool:
        scene.close()
        PAUSE.wait(wait_s)
        scene.replace_worker()
        return True

    return act


def freeze_worker(rng: Random) -> Act:
    """SIGSTOP for longer than the lease: another has taken over when it goes on."""
    overlap_s = rng.uniform(2, 5)

    def act(scene: Scene) -> bool:
        frozen = scene.worker
        frozen.send_signal(signal.SIGSTOP)
        try:
            scene.replace_worker()
            eventually(lambda: not scene.works(), overlap_s)
            frozen.send_signal(signal.SIGCONT)
            eventually(lambda: frozen.poll() is not None, overlap_s)
        finally:
            end(frozen)
        return True

    return act


def kill_broker(rng: Random) -> Act:
    """SIGKILL of the only broker; it is started again at once, or after a while."""
    wait_s = rng.choice((0.0, rng.uniform(0, 8)))

    def act(scene: Scene) -> bool:
        scene.broker.kill()
        PAUSE.wait(wait_s)
        scene.broker.start_again()
        return True

    return act


def freeze_broker(rng: Random) -> Act:
    """SIGSTOP of the broker: its connections stay, and it answers later."""
    lasts_s = rng.uniform(0.5, 6)

    def act(scene: Scene) -> bool:
        with scene.broker.stopped():
            PAUSE.wait(lasts_s)
        return True

    return act


FAULTS: Mapping[str, Callable[[Random], Act]] = {
    "connection cut before a request": partial(cut, at=At.REQUEST),
    "connection cut before an answer": partial(cut, at=At.ANSWER),
    "request late": late,
    "end of a transaction in the next one": delayed_end,
    "requests stay away": partial(partition, requests=True, answers=False),
    "answers stay away": partial(partition, requests=False, answers=True),
    "nothing passes": partial(partition, requests=True, answers=True),
    "worker killed": kill_worker,
    "worker frozen": freeze_worker,
    "broker killed": kill_broker,
    "broker frozen": freeze_broker,
}
