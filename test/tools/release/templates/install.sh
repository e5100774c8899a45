#!/bin/sh
# Copyright 2026 The Ropewalk Authors
# SPDX-License-Identifier: Apache-2.0

# Installs ropewalk and ropewalk-components of a release, after a look at their checksum:
#
#   curl -fsSL {{.Repository}}/releases/latest/download/install.sh | sh
#
# VERSION   the release (default {{.Version}})
# BIN       the folder for the programs (default /usr/local/bin, or ~/.local/bin where that is not writable)
# DOWNLOAD  where the files of the release are, for a mirror
set -eu

fail() {
  echo "install: $*" >&2
  exit 1
}

# fetch URL FILE
fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$2" "$1" || fail "$1 cannot be fetched"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1" || fail "$1 cannot be fetched"
  else
    fail "curl or wget is needed"
  fi
}

# Everything is in a function, so that a script that arrives in part does nothing.
main() {
  version=${VERSION:-{{.Version}}}
  download=${DOWNLOAD:-{{.Repository}}/releases/download/$version}
  os=$(uname -s | tr '[:upper:]' '[:lower:]')
  case $os in
    linux | darwin) ;;
    *) fail "there is no archive for $os here: see {{.Repository}}/releases" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no archive for $(uname -m): see {{.Repository}}/releases" ;;
  esac
  bin=${BIN:-/usr/local/bin}
  if [ -z "${BIN:-}" ] && [ ! -w "$bin" ]; then bin=$HOME/.local/bin; fi

  name=ropewalk_${version}_${os}_${arch}
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  fetch "$download/checksums.txt" "$work/checksums.txt"
  fetch "$download/$name.tar.gz" "$work/$name.tar.gz"

  want=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$work/checksums.txt")
  if command -v sha256sum >/dev/null; then
    got=$(sha256sum "$work/$name.tar.gz")
  else
    got=$(shasum -a 256 "$work/$name.tar.gz")
  fi
  [ -n "$want" ] || fail "checksums.txt has no $name.tar.gz"
  [ "${got%% *}" = "$want" ] || fail "$name.tar.gz has the checksum ${got%% *}, and not $want"

  tar -xzf "$work/$name.tar.gz" -C "$work"
  mkdir -p "$bin"
  for program in ropewalk ropewalk-components; do
    # A program that runs is replaced, and not written to.
    cp "$work/$name/$program" "$bin/.$program.new"
    mv -f "$bin/.$program.new" "$bin/$program"
  done
  echo "ropewalk $version is in $bin" >&2
  case :$PATH: in
    *":$bin:"*) ;;
    *) echo "add it to your PATH: export PATH=$bin:\$PATH" >&2 ;;
  esac
}

main
