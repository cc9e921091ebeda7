#!/bin/sh
# The proofs of the journal, made by the program and checked by Go's x/mod/sumdb (Debian: golang-go,
# golang-golang-x-mod-dev). Without Go it says so and stops. run.sh PROGRAM
set -eu

program=${1:?say which program}
here=$(cd "$(dirname "$0")" && pwd)
sources=${GOCODE:-/usr/share/gocode}
if ! command -v go >/dev/null || [ ! -d "$sources/src/golang.org/x/mod/sumdb/tlog" ]; then
    echo "SKIPPED: Go or golang.org/x/mod is not installed (golang-go, golang-golang-x-mod-dev)"
    exit 0
fi

work=$(mktemp -d)
cerebro() { "$program" --home "$work/home" "$@"; }
trap 'cerebro daemon stop >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
mkdir "$work/project"
cd "$work/project"

GO111MODULE=off GOPATH=$sources GOCACHE=$work/cache go build -o "$work/verify" "$here/verify.go"
cerebro projects >/dev/null
for n in 1 2 3 4 5 6 7; do
    printf '{"session_id":"s-%s","cwd":"%s","prompt":"request %s"}' "$n" "$work/project" "$n" |
        cerebro hook claude-code UserPromptSubmit
    # Seals of several sizes, so that paths of several lengths are checked.
    [ $((n % 3)) -ne 0 ] || cerebro work head >/dev/null
done
cerebro work head >/dev/null

checked=0
for id in $(cerebro work list --state all --json | grep -o '"work": *"[a-z2-7]*"' | cut -d'"' -f4); do
    cerebro work prove "$id" --json >"$work/proof"
    "$work/verify" "$work/proof"
    checked=$((checked + 1))
    # A changed leaf and a changed signature are refused.
    sed 's/ at \([0-9]*\) / at 9\1 /' "$work/proof" >"$work/changed"
    if "$work/verify" "$work/changed" 2>/dev/null; then echo "a changed leaf was accepted"; exit 1; fi
    sed 's/epoch 0/epoch 1/' "$work/proof" >"$work/changed"
    if "$work/verify" "$work/changed" 2>/dev/null; then echo "a changed note was accepted"; exit 1; fi
done
[ "$checked" -eq 7 ] || { echo "$checked pieces of work, and 7 were made"; exit 1; }
bytes=$(grep -o '"[0-9a-f]\{64\}"' "$work/proof" | wc -l)
echo "Go's verifier accepts $checked proofs, the last of $((32 * bytes)) bytes, and none that was changed"
