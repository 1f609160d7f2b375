#!/bin/sh
# Installs Deadwatch into a directory, as the image has it: docker/install.sh TARGET, in the source's root.
#   TARGET/venv    Python packages by the lock file's hashes, and Deadwatch itself
#   TARGET/cache   the jars of Spark's Kafka source
#   TARGET/bin     entry points
#   TARGET/sbom.cdx.json   what is inside (CycloneDX)
set -eu
target=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pip() { "$target/venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

mkdir -p "$target/bin"
"${PYTHON:-python3}" -m venv "$target/venv"
pip install --require-hashes --requirement requirements.lock
mkdir "$work/source" # a build leaves files beside what it builds
for part in api cli collector dashboards deadwatch jars lab redrive streaming LICENSE README.md pyproject.toml; do
    [ ! -e "$part" ] || cp -R "$part" "$work/source/"
done
pip install --no-deps --no-build-isolation "$work/source"

DEADWATCH_CACHE=$target/cache "$target/venv/bin/python" -m jars --conf spark
rm -rf "$target/cache/ivy" "$target"/cache/jars/*.log "$target"/cache/jars/*.lock

install -m 0755 docker/entrypoint "$target/bin/entrypoint"
install -m 0644 docker/spark_streaming.py "$target/bin/spark_streaming.py"
install -m 0644 streaming/log4j2.properties "$target/bin/log4j2.properties"

"$target/venv/bin/python" -m venv "$work/sbom"
"$work/sbom/bin/python" -m pip --disable-pip-version-check --quiet install \
    --require-hashes --requirement docker/sbom.lock
"$work/sbom/bin/cyclonedx-py" environment --pyproject pyproject.toml --mc-type application --of JSON \
    --output-file "$work/python.json" "$target/venv/bin/python"
"$target/venv/bin/python" docker/sbom.py "$work/python.json" "$target" >"$target/sbom.cdx.json"
