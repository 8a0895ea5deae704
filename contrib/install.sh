#!/bin/sh
# Installs the latest release of sayso for this machine, after verifying its SHA-256 sum:
#
#   curl -fsSL https://github.com/sayso-dev/sayso/releases/latest/download/install.sh | sh
#
# SAYSO_PREFIX   where to install: PREFIX/bin, PREFIX/share (default: ~/.local, for root /usr/local)
# SAYSO_RELEASE  the address of a release (default: the latest on GitHub)
set -eu

release=${SAYSO_RELEASE:-https://github.com/sayso-dev/sayso/releases/latest/download}
if [ "$(id -u)" = 0 ]; then prefix=${SAYSO_PREFIX:-/usr/local}; else prefix=${SAYSO_PREFIX:-$HOME/.local}; fi

fail() {
	echo "install: $1" >&2
	exit 1
}
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "There is no release for $(uname -s)." ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "There is no release for $(uname -m)." ;;
esac
if command -v curl >/dev/null; then
	fetch() { curl -fsSL "$release/$1" -o "$2"; }
elif command -v wget >/dev/null; then
	fetch() { wget -q "$release/$1" -O "$2"; }
else
	fail "curl or wget is missing."
fi
if command -v sha256sum >/dev/null; then
	sum() { sha256sum "$1"; }
else
	sum() { shasum -a 256 "$1"; }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch SHA256SUMS "$work/SHA256SUMS" || fail "$release cannot be reached."
# The list also says which version this is.
line=$(grep -E "^[0-9a-f]{64}  sayso-v[0-9][0-9A-Za-z.+-]*-$os-$arch\.tar\.gz\$" "$work/SHA256SUMS") || fail "The release has no archive for $os/$arch."
archive=${line#*  }
fetch "$archive" "$work/$archive" || fail "$archive cannot be downloaded."
found=$(sum "$work/$archive")
[ "${found%% *}" = "${line%% *}" ] || fail "The sum of $archive is wrong. Nothing was installed."

tar -xzf "$work/$archive" -C "$work"
from=$work/${archive%.tar.gz}
put() { # file, folder, mode
	mkdir -p "$2"
	cp "$1" "$2/.$(basename "$1").new"
	chmod "$3" "$2/.$(basename "$1").new"
	mv "$2/.$(basename "$1").new" "$2/$(basename "$1")" # a running program keeps its file
}
put "$from/sayso" "$prefix/bin" 755
for page in "$from"/man/*; do put "$page" "$prefix/share/man/man1" 644; done
put "$from/completion/_sayso" "$prefix/share/zsh/site-functions" 644
put "$from/completion/sayso.fish" "$prefix/share/fish/vendor_completions.d" 644
put "$from/completion/sayso.bash" "$prefix/share/bash-completion/completions" 644
mv "$prefix/share/bash-completion/completions/sayso.bash" "$prefix/share/bash-completion/completions/sayso"

echo "$("$prefix/bin/sayso" version) is in $prefix/bin. Start it: sayso serve"
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "$prefix/bin is not on your PATH: add it, or run $prefix/bin/sayso." ;;
esac
