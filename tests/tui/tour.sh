#!/bin/bash
# Types through every screen of `cerebro tui` in a real terminal (tmux), at 80×24 and 200×60: kills the
# daemon in the middle, edits a memory, ends the program in every possible way, and checks that the
# terminal is restored. Prints how long it takes to page through the list.
#
# usage: tests/tui/tour.sh PROGRAM [MEMORIES]
set -euo pipefail
program=$(realpath "$1")
memories=${2:-2000}
counted=$(echo "$memories" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta')
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cerebro-tour-XXXXXX")
socket=$work/tmux
home=$work/home
export HOME=$work LANG=C.UTF-8 LC_ALL=C.UTF-8
command -v tmux >/dev/null || { echo "the tour needs tmux (apt install tmux)"; exit 2; }

finish() {
  tmux -S "$socket" kill-server 2>/dev/null || true
  "$program" --home "$home" daemon stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

t() { tmux -S "$socket" "$@"; }
shown() { t capture-pane -p -t tour; }
fail() { echo "FAILED: $1"; shown; exit 1; }
# Waits until the screen shows a text.
see() {
  for _ in $(seq 200); do
    if shown | grep -qF -- "$1"; then return; fi
    sleep 0.05
  done
  fail "\`$1\` is not on the screen"
}
# Waits until the screen no longer shows it. (An Escape right before a letter would be Alt and that letter.)
gone() {
  for _ in $(seq 200); do
    if ! shown | grep -qF -- "$1"; then return; fi
    sleep 0.05
  done
  fail "\`$1\` is still on the screen"
}
keys() { t send-keys -t tour "$@"; }

python3 "$here/store.py" "$memories" >"$work/all.jsonl"
"$program" --home "$home" import "$work/all.jsonl" >/dev/null

# The state of the terminal: its settings, the cursor, which of its two screens.
state() { t display-message -p -t tour '#{alternate_on} #{cursor_flag}'; }

begin() {
  t new-session -d -s tour -x "$1" -y "$2" "env PS1='ready> ' EDITOR='$here/editor.sh' bash --norc --noprofile"
  # The server outlives its sessions; otherwise the next session may start while it ends.
  t set-option -s exit-empty off
  t set-option -t tour status off >/dev/null
  t resize-window -t tour -x "$1" -y "$2"
  see 'ready>'
  keys 'stty -g >'"$work"'/before' Enter
  open
}
open() {
  keys "clear; '$program' --home '$home' tui --all-projects" Enter
  see 'Saves per day'
}
# After the program has ended: the shell answers, the cursor is shown, the settings are what they were.
restored() {
  for _ in $(seq 100); do [ "$(state)" = '0 1' ] && break; sleep 0.05; done
  [ "$(state)" = '0 1' ] || fail "the terminal is not restored after $1: $(state)"
  keys 'clear; stty -g >'"$work"'/after; echo back' Enter
  for _ in $(seq 100); do cmp -s "$work/before" "$work/after" && return; sleep 0.05; done
  fail "stty differs after $1: $(diff "$work/before" "$work/after")"
}
# Waits until the screen is complete and no longer changes.
rest() {
  local before='' now='' rests=0
  for _ in $(seq 400); do
    now=$(shown)
    if [ "$now" = "$before" ] && ! grep -qF -- '⋯' <<<"$now"; then rests=$((rests + 1)); else rests=0; fi
    [ "$rests" -lt 5 ] || return 0
    before=$now
    sleep 0.02
  done
  fail 'the screen does not rest, whole'
}
# Pages down through the list, and prints how long it takes until the screen no longer changes.
scroll() {
  local begun=$(date +%s%N) pages=100
  keys -N "$pages" PageDown
  rest
  echo "ok: $pages pages down in $((($(date +%s%N) - begun) / 1000000)) ms"
  keys Home; see ' 1 of '
}
pid() { pgrep -f -- "$program --home $home tui" | head -1; }

for size in '80 24' '200 60'; do
  begin ${size% *} ${size#* }
  see 'connected'
  keys 2; see ' 1 of '
  keys Down Down Down; rest; keys Enter; see 'Earlier revisions'
  keys Tab; see 'first revision'
  keys Tab; see 'No relations yet'
  keys Escape; gone 'No relations yet'
  keys /; keys -l 'writer queue'; see 'hits'
  keys Enter; see 'Enter read'; keys Escape; gone 'writer queue'; see ' 1 of '
  keys e; see 'updated'
  keys End; see "$counted of $counted"
  keys Home; see ' 1 of '
  scroll
  keys t; see 'Show which type'; keys Escape; gone 'Show which type'
  keys g; see 'In its session'
  keys 3; see 'Mend the '; keys Enter; see 'What happened'; keys Escape; see 'Enter open'; rest
  keys 4; see 'following'
  "$program" --home "$home" search 'writer waits for the queue' --all-projects >/dev/null 2>&1
  see 'writer waits for the queue'
  # The daemon dies; the screens connect again by themselves.
  kill -9 "$("$program" --home "$home" daemon status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')"
  keys 2
  see '●'
  keys Down; see 'search'
  t resize-window -t tour -x 60 -y 15; see '●'
  t resize-window -t tour -x ${size% *} -y ${size#* }; rest
  keys '?'; see 'Everywhere'; keys Escape; gone 'Everywhere'
  keys q; restored "q at $size"
  for signal in TERM INT HUP; do
    open
    kill -"$signal" "$(pid)"
    restored "SIG$signal at $size"
  done
  t kill-session -t tour
  echo "ok: every screen at ${size/ /×}"
done

"$program" --home "$home" tui </dev/null >"$work/out" 2>&1 && fail "it runs without a terminal" || true
grep -q terminal "$work/out" || { cat "$work/out"; exit 1; }
echo "ok: refused with words where there is no terminal"
