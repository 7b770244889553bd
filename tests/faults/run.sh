#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/faults/run.sh [--minutes N] [--seed S] [--build DIR]: crashes, kills and a soak, one after the other, each a
# quarter or more of the time. Prints a line for each part; ends with the first problem, whose line names the seed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
minutes=10
build=$root/build/release
# Other seeds in every run.
seed=$(($(date +%s) * 1000))
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes) minutes=$2 ;;
    --seed) seed=$2 ;;
    --build) build=$2 ;;
    *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
ninja -C "$build" crash_cycles kill_cycles soak >/dev/null

survived=()
quarter=$((minutes * 60 / 4))

# cycles PART PROGRAM ARGUMENTS...: repeats the program for a quarter of the time and counts.
cycles() {
  local part=$1 end=$((SECONDS + quarter)) crashes=0 operations=0 line
  shift
  while ((SECONDS < end)); do
    line=$("$build/bin/$1" --seed "$seed" --cycles 100 "${@:2}") || { printf '%s\n' "$line"; exit 1; }
    crashes=$((crashes + ${line%% *}))
    operations=$((operations + $(sed 's/.*; \([0-9]*\) operations.*/\1/' <<<"$line")))
    seed=${line##* }
  done
  survived+=("$(printf '| %-34s | %8d | %12d |' "$part" "$crashes" "$operations")")
}

printf 'seed %s\n' "$seed"
cycles 'power lost, one thread' crash_cycles --threads 1
cycles 'power lost, four threads' crash_cycles --threads 4
cycles 'process killed, four threads' kill_cycles --threads 4
line=$("$build/bin/soak" --seed "$seed" --seconds "$quarter" | tee /dev/stderr | tail -n 1) 2>/dev/null || exit 1
operations=$(sed 's/.*; \([0-9]*\) operations.*/\1/' <<<"$line")
survived+=("$(printf '| %-34s | %8s | %12d |' 'soak, four threads' '-' "$operations")")

printf '| %-34s | %8s | %12s |\n|---|---|---|\n' 'what' 'crashes' 'acknowledged'
printf '%s\n' "${survived[@]}"
