#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install_packages.sh GROUP...: installs the Debian packages of packages.txt that are missing, as root or through
# sudo, without a question. Does not touch apt if nothing is missing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
missing=()
for group in "$@"; do
  packages=$(sed -n "/^\[$group\]\$/,/^\[/p" "$here/packages.txt" | grep -v -e '^\[' -e '^#' -e '^$') ||
    { echo "packages.txt has no group [$group]" >&2; exit 1; }
  for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
  done
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=(env DEBIAN_FRONTEND=noninteractive)
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    { echo "these packages are missing, and there is neither root nor sudo: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -q </dev/null
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
