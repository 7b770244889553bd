#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# neon_check.sh BUILD_DIR: compiles the NEON kernel with a cross compiler (g++-aarch64-linux-gnu), and compares it with
# the portable one and the reference where qemu-aarch64 (qemu-user) runs it. Exits with 77 (skipped) without a compiler.
root=$(readlink -f "$(dirname "$0")/../..")
compiler=aarch64-linux-gnu-g++
program="$1/neon_check"
command -v $compiler >/dev/null || { echo "skipped: $compiler is not installed"; exit 77; }
$compiler -std=c++20 -O3 -Wall -Wextra -Werror -static -I"$root" -o "$program" \
  "$root/hashing/kernel.cc" "$root/hashing/kernel_neon.cc" "$root/hashing/kernel_portable.cc" \
  "$root/tests/reference/reference_tree.cc" "$root/tests/hashing/neon_check_main.cc" || exit 1
command -v qemu-aarch64 >/dev/null || { echo "compiled only: qemu-aarch64 is not installed"; exit 0; }
env -u COFFER_KERNEL qemu-aarch64 "$program"
