#!/bin/sh
# An editor that adds a line.
echo "Added by the editor at $(date +%s%N)." >>"$1"
