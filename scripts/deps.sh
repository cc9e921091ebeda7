#!/usr/bin/env bash
# Makes sure that what the build needs from the system is there. Installs the missing packages on
# Debian and Ubuntu, as root or with sudo; elsewhere says what to install. Quiet and without network
# when nothing is missing.
set -euo pipefail

packages=(build-essential clang libclang-dev git make pkg-config)
# `make model` installs a server for the tests into a virtual environment.
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
# Under CI no test may be skipped: one of them runs OpenCode's plugin.
if [ -n "${CI:-}" ]; then
  command -v node >/dev/null || packages+=(nodejs)
fi

fail() {
  echo "error: $1" >&2
  exit 1
}

# The Rust tools are not the system's: rustup keeps them in the user's home.
command -v cargo >/dev/null || fail "cargo is missing; install Rust 1.94 or later from https://rustup.rs"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  missing=()
  for tool in cc c++ clang git make pkg-config; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} -eq 0 ] && exit 0
  echo "error: missing: ${missing[*]}" >&2
  echo "  Fedora: sudo dnf install gcc-c++ clang clang-devel git make pkgconf-pkg-config" >&2
  echo "  Arch:   sudo pacman -S base-devel clang git" >&2
  echo "  macOS:  xcode-select --install && brew install llvm pkg-config" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "as root: apt-get install ${missing[*]}"
  root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}")
# Package lists may be absent or old: try as it is, then with fresh ones.
"${install[@]}" </dev/null >/dev/null 2>&1 && exit 0
"${root[@]}" apt-get update </dev/null >/dev/null
"${install[@]}" </dev/null || fail "could not install ${missing[*]}"
