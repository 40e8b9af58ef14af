#!/bin/sh
# Installs the cellbridge program: downloads it, compares its SHA-256 checksum, and puts it into a folder of yours.
#
#   CELLBRIDGE_VERSION      the version to install, such as 0.1.0 (default: the latest release)
#   CELLBRIDGE_INSTALL_DIR  where the program goes (default: ~/.local/bin)
#   CELLBRIDGE_BASE_URL     where the archives and SHA256SUMS are (default: the release's page)
set -eu

REPOSITORY=https://github.com/OWNER/cellbridge

say() { printf 'cellbridge: %s\n' "$*" >&2; }
fail() {
    say "$@"
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

platform() {
    case "$(uname -s) $(uname -m)" in
    'Linux x86_64' | 'Linux amd64') echo x86_64-unknown-linux-gnu ;;
    'Linux aarch64' | 'Linux arm64') echo aarch64-unknown-linux-gnu ;;
    *)
        fail "there is no program for $(uname -s) on $(uname -m). Build it: cargo install --git $REPOSITORY --locked cli"
        ;;
    esac
}

# The archives are linked with glibc, 2.17 or newer.
require_glibc() {
    if has getconf && getconf GNU_LIBC_VERSION >/dev/null 2>&1; then return; fi
    if has ldd && ldd --version 2>&1 | grep -qi 'glibc\|gnu libc'; then return; fi
    fail "this system has no glibc (Alpine Linux?). Build the program: cargo install --git $REPOSITORY --locked cli"
}

base_url() {
    if [ -n "${CELLBRIDGE_BASE_URL:-}" ]; then
        echo "${CELLBRIDGE_BASE_URL%/}"
    elif [ -n "${CELLBRIDGE_VERSION:-}" ]; then
        echo "$REPOSITORY/releases/download/v${CELLBRIDGE_VERSION#v}"
    else
        echo "$REPOSITORY/releases/latest/download"
    fi
}

# download URL FILE
download() {
    if has curl; then
        case $1 in
        https://*) curl --fail --silent --show-error --location --proto '=https' --tlsv1.2 --output "$2" "$1" ;;
        *) curl --fail --silent --show-error --location --output "$2" "$1" ;;
        esac
    elif has wget; then
        wget --quiet --output-document="$2" "$1"
    else
        fail 'curl or wget is needed to download the program; install one of them.'
    fi || fail "$1 could not be downloaded; nothing was installed."
}

# checksum FILE
checksum() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
    else
        fail 'sha256sum, shasum or openssl is needed to compare the checksum; nothing was installed.'
    fi
}

# Everything is in functions, so that a download of this script that breaks off does nothing.
main() {
    archive="cellbridge-$(platform).tar.gz"
    require_glibc
    folder=${CELLBRIDGE_INSTALL_DIR:-${HOME:?is not set; set CELLBRIDGE_INSTALL_DIR}/.local/bin}
    url=$(base_url)

    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    say "downloading $url/$archive"
    download "$url/SHA256SUMS" "$scratch/SHA256SUMS"
    download "$url/$archive" "$scratch/$archive"

    expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
    [ -n "$expected" ] || fail "$url/SHA256SUMS does not list $archive; nothing was installed."
    actual=$(checksum "$scratch/$archive")
    if [ "$actual" != "$expected" ]; then
        fail "$archive has the checksum $actual instead of $expected; nothing was installed. Try again later."
    fi

    tar -xzf "$scratch/$archive" -C "$scratch" cellbridge
    mkdir -p "$folder"
    # A program that is running is replaced by a rename, not overwritten.
    new="$folder/.cellbridge.$$"
    trap 'rm -rf "$scratch" "$new"' EXIT
    cp "$scratch/cellbridge" "$new"
    chmod 755 "$new"
    version=$("$new" --version) || fail "the program does not run on this system; nothing was installed."
    mv -f "$new" "$folder/cellbridge"

    say "$version is installed as $folder/cellbridge"
    case ":$PATH:" in
    *":$folder:"*) ;;
    *) say "$folder is not on your PATH; add this line to your shell's profile: export PATH=\"$folder:\$PATH\"" ;;
    esac
}

main "$@"
