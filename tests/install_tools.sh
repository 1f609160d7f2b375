#!/bin/sh
# Builds the Go programs that the chart's tests need into the cache, once a version; prints where they are.
# Two calls at a time do not meet. What cannot be built is named, and ends this with 1.
set -eu
tools=${DEADWATCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/deadwatch}/tools
mkdir -p "$tools"
exec 9>"$tools/lock"
flock 9
sed '/^#/d' "$(dirname "$0")/go-tools.txt" | while read -r name package version; do
    [ -x "$tools/$name-$version" ] && continue
    command -v go >/dev/null || { echo "the chart's tests need Go 1.26: apt-get install golang-go" >&2; exit 1; }
    draft=$(mktemp -d "$tools/draft.XXXXXX")
    trap 'rm -rf "$draft"' EXIT
    GOBIN=$draft GOFLAGS=-buildvcs=false go install "$package@$version" >"$tools/$name.log" 2>&1 || {
        echo "go install $package@$version failed: $(tail -n 1 "$tools/$name.log")" >&2
        exit 1
    }
    mv "$draft/$(basename "$package")" "$tools/$name-$version"
    rm -rf "$draft"
done
echo "$tools"
