#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/faults/run.sh [--minutes N] [--seed S] [--table FILE] [--build DIR]
#
# Loses power, kills and soaks, a quarter of the time each (the first of them with one thread and with four), with
# seeds that no run before has had. Prints a table of what was survived, and adds its rows to FILE. Ends with the first
# problem, whose line begins with its seed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
minutes=10
build=$root/build/release
seed=$(($(date +%s) * 1000))
table=/dev/null
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes) minutes=$2 ;;
    --seed) seed=$2 ;;
    --table) table=$2 ;;
    --build) build=$2 ;;
    *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
ninja -C "$build" crash_cycles kill_cycles soak >/dev/null

day=$(date +%F)
commit=$(git -C "$root" describe --always --dirty)
quarter=$((minutes * 60 / 4))
rows=()
# Of the program that ran last: what it printed at the end.
summary=

# run PROGRAM ARGUMENTS...
run() {
  local program=$1 printed
  shift
  printed=$("$build/bin/$program" --seed "$seed" "$@") || { printf '%s %s\n%s\n' "$program" "$*" "$printed"; exit 1; }
  summary=$(tail -n 1 <<<"$printed")
  seed=${summary##* }
}

# note PART CRASHES OPERATIONS
note() { rows+=("$(printf '| %s | %s | %-28s | %8s | %12s |' "$day" "$commit" "$@")"); }

operations() { sed 's/.*; \([0-9]*\) operations.*/\1/' <<<"$summary"; }

# cycles PART PROGRAM ARGUMENTS...: runs the program again and again for a quarter of the time.
cycles() {
  local part=$1 end=$((SECONDS + quarter)) crashes=0 acknowledged=0
  shift
  while ((SECONDS < end)); do
    run "$@" --cycles 50
    crashes=$((crashes + ${summary%% *}))
    acknowledged=$((acknowledged + $(operations)))
  done
  note "$part" "$crashes" "$acknowledged"
}

printf 'seed %s\n' "$seed"
cycles 'power lost, one thread' crash_cycles --threads 1
cycles 'power lost, four threads' crash_cycles --threads 4
cycles 'process killed, four threads' kill_cycles --threads 4
run soak --seconds "$quarter"
note 'soak, four threads' - "$(operations)"

printf '| day | commit | what | crashes | acknowledged |\n|---|---|---|---|---|\n'
printf '%s\n' "${rows[@]}" | tee -a "$table"
