"""The proxy and its faults, before a server that answers every request at once with its correlation id."""

import socket
import socketserver
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from lab.faults import Api, At, Cut, Delay, Forged, Late, Partition
from lab.ports import free_port
from lab.proxy import Proxy
from tests.http_server import running
from tests.waiting import until

HEADER = struct.Struct(">ihhi")
LAST = Api.METADATA
"""The server ends the connection after this."""
HOUR_S = 3_600


class Broker(socketserver.ThreadingTCPServer):
    """Remembers the correlation ids of what it has received, in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.received: list[int] = []


class Answering(socketserver.StreamRequestHandler):
    """One connection."""

    server: Broker

    def handle(self) -> None:
        while header := self.rfile.read(HEADER.size):
            _, api, _, correlation_id = HEADER.unpack(header)
            self.server.received.append(correlation_id)
            self.wfile.write(struct.pack(">ii", 4, correlation_id))
            if api == LAST:
                return


class Client:
    """A connection to the proxy."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)

    def send(self, api: Api, correlation_id: int) -> None:
        self.socket.sendall(HEADER.pack(HEADER.size - 4, api, 0, correlation_id))

    def answer(self) -> int | None:
        """The correlation id of the next answer; None where the connection has ended."""
        answer = self.socket.recv(8, socket.MSG_WAITALL)
        return struct.unpack(">ii", answer)[1] if answer else None

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def broker() -> Iterator[Broker]:
    with running(Broker()) as server:
        yield server


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def proxy(broker: Broker, port: int) -> Iterator[Proxy]:
    with Proxy(port, broker.server_address[1]) as running:
        yield running


@pytest.fixture
def client(proxy: Proxy, port: int) -> Iterator[Client]:
    assert proxy.address == f"127.0.0.1:{port}"
    with closing(Client(port)) as connected:
        yield connected


@pytest.fixture
def an_hour_passes(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Sets the clock of the proxy, and has it looked at: a fault ends when the test says so."""

    def passes() -> None:
        monkeypatch.setattr(proxy._loop, "time", lambda: time.monotonic() + HOUR_S)
        proxy._loop.call_soon_threadsafe(lambda: None)

    return passes


def test_without_a_fault_everything_passes(broker: Broker, client: Client) -> None:
    for api in sorted(Api, key=LAST.__eq__):
        client.send(api, api)
        assert client.answer() == api
    assert sorted(broker.received) == sorted(Api)


@pytest.mark.parametrize(
    ("at", "received"), [(At.REQUEST, [1]), (At.ANSWER, [1, 2])], ids=["request", "answer"]
)
def test_a_connection_is_cut_at_a_request_or_in_place_of_its_answer(
    broker: Broker, proxy: Proxy, client: Client, at: At, received: list[int]
) -> None:
    fault = Cut(Api.END_TXN, at)
    proxy.inject(fault)
    client.send(Api.PRODUCE, 1)
    assert client.answer() == 1
    assert not fault.happened.is_set()
    client.send(Api.END_TXN, 2)
    assert client.answer() is None
    assert fault.happened.is_set()
    assert broker.received == received


def test_a_forged_answer_keeps_one_request_from_the_broker(
    broker: Broker, proxy: Proxy, client: Client
) -> None:
    fault = Forged(Api.END_TXN, b"")
    proxy.inject(fault)
    for number, api in enumerate((Api.PRODUCE, Api.END_TXN, Api.END_TXN), start=1):
        client.send(api, number)
        assert client.answer() == number
    assert fault.happened.is_set()
    assert broker.received == [1, 3]


def test_a_late_request_holds_up_its_own_connection_alone(
    broker: Broker, proxy: Proxy, client: Client, port: int, an_hour_passes: Callable[[], None]
) -> None:
    fault = Late(Api.PRODUCE, HOUR_S)
    proxy.inject(fault)
    client.send(Api.PRODUCE, 1)
    until(fault.happened.is_set)
    with closing(Client(port)) as other:
        other.send(Api.PRODUCE, 2)
        assert other.answer() == 2
    an_hour_passes()
    assert client.answer() == 1
    assert broker.received == [2, 1]


def test_a_delayed_request_arrives_before_another_one_of_another_connection(
    broker: Broker, proxy: Proxy, client: Client, port: int
) -> None:
    fault = Delay(Api.END_TXN, Api.PRODUCE, skipped=1)
    proxy.inject(fault)
    client.send(Api.END_TXN, 1)
    with closing(Client(port)) as other:
        for number in (2, 3):
            other.send(Api.PRODUCE, number)
            assert other.answer() == number
    assert client.answer() == 1
    assert fault.happened.is_set()
    assert broker.received == [2, 1, 3]


@pytest.mark.parametrize("requests", [True, False], ids=["requests", "answers"])
def test_a_partition_holds_up_what_it_is_for_and_ends(
    broker: Broker, proxy: Proxy, client: Client, requests: bool, an_hour_passes: Callable[[], None]
) -> None:
    fault = Partition(HOUR_S, requests=requests, answers=not requests)
    proxy.inject(fault)
    client.send(Api.PRODUCE, 1)
    until(fault.happened.is_set)
    assert broker.received == ([] if requests else [1])
    assert not fault.over
    an_hour_passes()
    assert client.answer() == 1
    assert fault.over


def test_the_client_learns_that_the_broker_has_ended_its_connection(client: Client) -> None:
    client.send(LAST, 1)
    assert client.answer() == 1
    assert client.answer() is None
