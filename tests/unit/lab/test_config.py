from pathlib import Path

from lab.broker import Ports, SaslSsl, server_properties
from lab.jvm import render, write_properties

PORTS = Ports(*range(1, 9))


def test_a_properties_file_keeps_backslashes_and_line_breaks() -> None:
    assert render({"a": "x\\y\nz", "b": 1}) == "a=x\\\\y\\nz\nb=1\n"


def test_a_properties_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = write_properties(tmp_path / "server.properties", {"password": "x"})
    assert file.stat().st_mode & 0o077 == 0


def test_every_listener_is_on_loopback() -> None:
    properties = server_properties(PORTS, Path("lab"))
    for name in ("listeners", "advertised.listeners"):
        addresses = [listener.partition("://")[2] for listener in str(properties[name]).split(",")]
        assert all(address.startswith("127.0.0.1:") for address in addresses)


def test_a_password_does_not_show_when_the_connection_is_printed() -> None:
    assert "secret" not in repr(SaslSsl("127.0.0.1:2", Path("ca.pem"), "secret"))
