#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh BUILD_DIR: makes the vectors again with the bao-tree crate and compares them with bao_vectors.txt.
# Exits with 77 (skipped) where cargo or the crates cannot be had.
here=$(dirname "$(readlink -f "$0")")
command -v cargo >/dev/null || { echo "skipped: cargo is not installed"; exit 77; }
export CARGO_TARGET_DIR="$1/bao_vectors"
# A copy, so that the lock file that cargo writes stays out of the source tree.
mkdir -p "$CARGO_TARGET_DIR/crate" && cp -r "$here/Cargo.toml" "$here/src" "$CARGO_TARGET_DIR/crate" || exit 1
if ! cargo build --quiet --release --manifest-path "$CARGO_TARGET_DIR/crate/Cargo.toml"; then
  echo "skipped: the bao-tree crate cannot be fetched or built here"
  exit 77
fi
"$CARGO_TARGET_DIR/release/bao_vectors" >"$CARGO_TARGET_DIR/vectors.txt" || exit 1
grep -v '^#' "$here/../bao_vectors.txt" | diff -u - "$CARGO_TARGET_DIR/vectors.txt" && echo "the vectors are those of bao-tree"
