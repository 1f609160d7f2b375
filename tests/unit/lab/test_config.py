from pathlib import Path

from lab.broker import Ports, SaslSsl, server_properties
from lab.jvm import render, write_properties

PORTS = Ports(*range(1, 9))


def test_a_properties_file_keeps_backslashes_and_line_breaks() -> None:
    assert render({"a": "x\\y\nz", "b": 1}) == "a=x\\\\y\\nz\nb=1\n"


def test_a_properties_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = write_properties(tmp_path / "server.properties", {"password": "x"})
    assert file.stat().st_mode & 0o077 == 0


def test_the_encrypted_listener_exists_only_where_it_is_wanted() -> None:
    plain = server_properties(PORTS, Path("lab"), with_sasl=False)
    both = server_properties(PORTS, Path("lab"), with_sasl=True)
    assert plain["advertised.listeners"] == f"PLAINTEXT://127.0.0.1:{PORTS.broker}"
    encrypted = f"SASL_SSL://127.0.0.1:{PORTS.broker_sasl_ssl}"
    assert both["advertised.listeners"] == f"{plain['advertised.listeners']},{encrypted}"
    controller = f"CONTROLLER://127.0.0.1:{PORTS.controller}"
    assert both["listeners"] == f"{both['advertised.listeners']},{controller}", "all on loopback"


def test_a_password_does_not_show_when_the_connection_is_printed() -> None:
    assert "secret" not in repr(SaslSsl("127.0.0.1:2", Path("ca.pem"), "secret"))
