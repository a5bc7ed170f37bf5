#!/usr/bin/env bash
# Installs the command `core-relo` for a CI job: a release, or a build from the sources beside this script.
#
# CORE_RELO_VERSION: the release, such as 0.1.0. Empty: that of the tag in CORE_RELO_ACTION_REF, else no release: the sources are built
# CORE_RELO_RELEASES: the address of the releases (https:, http: or file:), below which v0.1.0/core-relo-0.1.0-x86_64-unknown-linux-musl.tar.gz is
#   (default: the releases of CORE_RELO_ACTION_REPOSITORY on CORE_RELO_ACTION_SERVER)
# CORE_RELO_SHA256: the SHA-256 of the archive (default: that in SHA256SUMS beside the archive, which protects from damage, but not from the server)
# CORE_RELO_BIN: the directory of the command (default: ~/.local/bin); the module of `core-relo site` gets into ../share/core-relo
set -euo pipefail

sources=$(dirname "$(dirname "$(realpath -- "$0")")")
bin=${CORE_RELO_BIN:-$HOME/.local/bin}
version=${CORE_RELO_VERSION:-}
releases=${CORE_RELO_RELEASES:-}
sha256=${CORE_RELO_SHA256:-}

if [ -z "$version" ] && [[ ${CORE_RELO_ACTION_REF:-} =~ ^v[0-9] ]]; then
  version=${CORE_RELO_ACTION_REF#v}
fi
if [ -z "$releases" ] && [ -n "${CORE_RELO_ACTION_REPOSITORY:-}" ]; then
  releases=$CORE_RELO_ACTION_SERVER/$CORE_RELO_ACTION_REPOSITORY/releases/download
fi

temporary=$(mktemp -d)
trap 'rm -rf -- "$temporary"' EXIT

fail() {
  echo "core-relo: $1" >&2
  exit 2
}

# Moves the command into its directory, and tells the later steps of a job on GitHub.
install_command() {
  mkdir -p -- "$bin"
  mv -f -- "$1" "$bin/core-relo"
  "$bin/core-relo" --version
  if [ -n "${GITHUB_PATH:-}" ]; then
    realpath -- "$bin" >> "$GITHUB_PATH"
  fi
}

build() {
  cargo install --locked --quiet --path "$sources/cli" --root "$temporary/root"
  install_command "$temporary/root/bin/core-relo"
}

# Downloads $1 of the release into the temporary directory. Returns 1 if the release has no such file.
download() {
  local address=$releases/v$version/$1 redirects='=https' status=0 code
  if [[ $releases == http:* ]]; then
    redirects='=https,http'
  fi
  code=$(curl --silent --show-error --fail --location --retry 3 --proto '=https,http,file' --proto-redir "$redirects" \
    --output "$temporary/$1" --write-out '%{http_code}' -- "$address") || status=$?
  case $status in
    0) return 0 ;;
    37) return 1 ;; # a file: that does not exist
  esac
  if [ "$code" = 404 ]; then
    return 1
  fi
  fail "$address: curl ends with status $status"
}

if [ -z "$version" ]; then
  build
  exit
fi
if ! [[ $version =~ ^[0-9][0-9A-Za-z.+-]*$ ]]; then
  fail "CORE_RELO_VERSION: \`$version\`, expected a version such as 0.1.0"
fi
if [ -z "$releases" ]; then
  fail "CORE_RELO_RELEASES: not set, expected the address of the releases"
fi
case $(uname -m) in
  x86_64) target=x86_64-unknown-linux-musl ;;
  aarch64) target=aarch64-unknown-linux-musl ;;
  riscv64) target=riscv64gc-unknown-linux-gnu ;;
  s390x) target=s390x-unknown-linux-gnu ;;
  ppc64le) target=powerpc64le-unknown-linux-gnu ;;
  *) target=$(uname -m) ;;
esac
name=core-relo-$version-$target
archive=$name.tar.gz
if ! download "$archive"; then
  # The sources beside this script stand for the release only if they are of the same version, and nobody asked for certain bytes.
  if [ -z "$sha256" ] && grep -qxF "version = \"$version\"" "$sources/Cargo.toml"; then
    echo "core-relo: $releases/v$version has no $archive: builds the sources of the same version"
    build
    exit
  fi
  fail "$releases/v$version/$archive: does not exist"
fi
if [ -z "$sha256" ]; then
  download SHA256SUMS || fail "$releases/v$version/SHA256SUMS: does not exist"
  sha256=$(awk -v name="$archive" '$2 == name { print $1 }' "$temporary/SHA256SUMS")
fi
found=$(sha256sum -- "$temporary/$archive")
if [ "${found%% *}" != "$sha256" ]; then
  fail "$archive: the SHA-256 is ${found%% *}, expected ${sha256:-a line in SHA256SUMS}"
fi
tar -xzf "$temporary/$archive" -C "$temporary" "$name/core-relo" "$name/share/core-relo"
install_command "$temporary/$name/core-relo"
mkdir -p -- "$bin/../share/core-relo"
mv -f -- "$temporary/$name/share/core-relo/core-relo-web.wasm" "$bin/../share/core-relo/"
