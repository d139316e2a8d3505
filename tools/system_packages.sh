#!/usr/bin/env bash
# System packages that tests need: install them where we may, name them where we may not.
set -euo pipefail
missing=()
# need PROGRAM PACKAGE: PROGRAM is a glob of absolute paths, so that Debian's versioned folders are found.
need() { compgen -G "$1" >/dev/null || missing+=("$2"); }
need '/usr/lib/postgresql/*/bin/initdb' postgresql
need '/usr/share/wordnet/data.noun' wordnet-base
need '/usr/bin/chromium' chromium
need '/usr/bin/java' openjdk-17-jre-headless
need '/usr/bin/chromedriver' chromium-driver
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "coterie: installing ${missing[*]}"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "coterie: the tests that need ${missing[*]} will be skipped. As root: apt-get install ${missing[*]}" >&2
fi
