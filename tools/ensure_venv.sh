#!/usr/bin/env bash
# Make the virtual environment $1, or say exactly what is missing.
set -euo pipefail
target=$1
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "coterie: no $python here. Install Python 3.11 or newer (Debian: apt-get install python3)." >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "coterie: $("$python" --version) is too old; Python 3.11 or newer is needed. Name one: make PYTHON=python3.12 ..." >&2; exit 1; }
[ -x "$target/bin/python" ] && "$target/bin/python" -c 'import pip' 2>/dev/null && exit 0
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  # Debian ships python3 without ensurepip; the package python3-venv brings it.
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "coterie: installing python3-venv"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
  else
    echo "coterie: this Python cannot make virtual environments. As root: apt-get install python3-venv" >&2; exit 1
  fi
fi
rm -rf "$target"
"$python" -m venv "$target"
