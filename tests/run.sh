#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is needed, builds, and runs every test:
#  1. all suites in the release build;
#  2. all suites with the address and undefined-behaviour sanitizers;
#  3. the suites that are about threads with the thread sanitizer;
#  4. every fuzzer for a few seconds.
# The benches run once, shortened, after the suites of the release build: they must work, their figures do not matter.
# Ends with the first that fails. `tests/run.sh release` (or asan-ubsan, tsan, fuzz) runs one of them alone.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Names of test programs; each is the ctest label of its cases.
tsan_suites=(hashing_test memory_engine_test rocks_engine_test server_test wire_contract_test planted_race_test
  client_test client_parts_test)

fuzz_seconds=20

# On a loaded machine a test may run into a time limit; what fails twice has failed.
ctest_options=(--no-tests=error --repeat until-pass:2 -j "$(nproc)")

build() {
  local preset=$1
  shift
  local launcher=()
  ! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  cmake --preset "$preset" -DCOFFER_TESTS=ON "${launcher[@]}" >/dev/null
  ninja -C "build/$preset" "$@"
}

run_release() {
  build release
  ctest --preset release "${ctest_options[@]}"
  build/release/bin/hash_bench --quick --json >/dev/null
  # Beside the build, which is on a disk: O_DIRECT works there.
  rm -rf build/release/bench-data
  build/release/bin/storage_bench --quick --json --dir build/release/bench-data >/dev/null
}

run_asan-ubsan() {
  build asan-ubsan
  ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --preset asan-ubsan "${ctest_options[@]}"
}

run_tsan() {
  build tsan "${tsan_suites[@]}"
  local labels
  labels=$(IFS='|'; echo "${tsan_suites[*]}")
  TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1:suppressions=$root/tests/support/tsan.supp \
    ctest --preset tsan "${ctest_options[@]}" -L "^($labels)\$"
}

run_fuzz() {
  build fuzz fuzzers
  local fuzzer
  for fuzzer in build/fuzz/bin/*_fuzzer; do
    printf '%s\n' "$fuzzer"
    "$fuzzer" -max_total_time="$fuzz_seconds" -max_len=4096 -artifact_prefix=build/fuzz/ -verbosity=0 -print_funcs=0 \
      -print_final_stats=1
  done
}

deploy/install_packages.sh build test
# What the benches compare with; they go without what is missing.
deploy/install_packages.sh bench || echo "run.sh: going on without the packages of [bench]" >&2
for part in "${@:-release asan-ubsan tsan fuzz}"; do
  for preset in $part; do
    case $preset in
      release | asan-ubsan | tsan | fuzz) ;;
      *) echo "run.sh: unknown part $preset" >&2; exit 2 ;;
    esac
    started=$SECONDS
    printf '\n== %s\n' "$preset"
    "run_$preset"
    printf '== %s passed in %d s\n' "$preset" $((SECONDS - started))
  done
done
