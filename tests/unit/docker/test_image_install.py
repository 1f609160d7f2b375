"""What the image's build fetches of Python is what the lock files name, by its hash."""

import re

from tests.paths import ROOT

SCRIPT = (ROOT / "docker" / "install.sh").read_text().replace("\\\n", " ")
OURS = '--no-deps --no-build-isolation "$work/source"'
LOCKED = re.compile(r"--require-hashes --requirement (\S+\.lock)")


def test_every_package_is_installed_from_a_lock_by_its_hash() -> None:
    installed = re.findall(r"\bpip\b.* install +(.+)", SCRIPT)
    locks = [LOCKED.fullmatch(packages) for packages in installed if packages != OURS]
    assert [lock and lock[1] for lock in locks] == ["requirements.lock", "docker/sbom.lock"]


def test_the_lock_has_what_was_asked_for() -> None:
    asked = [line for line in (ROOT / "docker" / "sbom.in").read_text().splitlines() if line[0] != "#"]
    locked = (ROOT / "docker" / "sbom.lock").read_text()
    assert all(re.search(rf"^{re.escape(one)} \\$", locked, re.MULTILINE) for one in asked)
    packages = re.findall(r"^\S+==.+$", locked, re.MULTILINE)
    assert len(re.findall(r"==.*\\\n    --hash=sha256:[0-9a-f]{64}", locked)) == len(packages)
    assert "-o docker/sbom.lock docker/sbom.in\n" in (ROOT / "Makefile").read_text()
