#!/usr/bin/env bash
# Cargo runs this in place of rustc for our own crates (RUSTC_WORKSPACE_WRAPPER, see `make lint`).
#
# `cargo clippy` would build metadata of all 800 dependencies beside the release build. Checking ours
# inside the release build needs nothing but what that build has made already: the
# dependencies' files are the same. No code is generated: only metadata is asked for, and so our own
# libraries are handed on as metadata too. Cargo leaves a missing program as it is, so the
# last built `cerebro` stays in place.
set -euo pipefail

# Warnings are errors unless the caller says otherwise (check.sh).
read -ra flags <<<"${CLIPPY_FLAGS--D warnings}"
# A build script has to run.
[[ " $* " == *" build_script_build "* ]] && exec clippy-driver "$@" "${flags[@]}"

arguments=()
for argument in "$@"; do
  case "$argument" in
    --emit=*) argument="--emit=dep-info,metadata" ;;
    cerebro*=*.rlib) argument="${argument%.rlib}.rmeta" ;;
  esac
  arguments+=("$argument")
done
exec clippy-driver "${arguments[@]}" "${flags[@]}"
