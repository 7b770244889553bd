#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh Debian 12 to a running store with real files in it:
#
#   deploy/quickstart.sh [--once] [PATH...]
#
#  1. installs the Debian packages that are missing, builds the release;
#  2. starts cofferd on coffer-data/ at 127.0.0.1:7420 (COFFER_LISTEN: another address), or reuses the one that an
#     earlier run started; its log and pid file are in build/quickstart/;
#  3. puts every PATH (default: /usr/share/doc and a generated tree) into a bucket of its own, gets it back,
#     compares both copies with the stored digests, has the server verify everything;
#  4. prints what was stored and what deduplication saved; leaves the server running.
#
# --once: uses a directory and a port of its own, and stops and removes everything at the end.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$root/build/release/bin
data=$root/coffer-data
home=$root/build/quickstart
listen=${COFFER_LISTEN:-127.0.0.1:7420}
once=false
# The default inputs are meant to be a load, not a handful of files.
min_default_files=1000

paths=()
for argument in "$@"; do
  case $argument in
    --once) once=true ;;
    -h | --help) sed -n '5,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "quickstart: unknown option $argument" >&2; exit 2 ;;
    *) [ -e "$argument" ] || { echo "quickstart: $argument does not exist" >&2; exit 2; }
       paths+=("$(realpath -s "$argument")") ;;
  esac
done

say() { printf '\n== %s\n' "$*"; }
fail() { echo "quickstart: $*" >&2; exit 1; }

build() {
  say "packages"
  "$root/deploy/install_packages.sh" build
  say "build"
  cd "$root"
  [ -f build/release/build.ninja ] || cmake --preset release -DCOFFER_TESTS=OFF >/dev/null
  ninja -C build/release coffer cofferd
}

# True if the server that an earlier run started is there and answers. (The pid could belong to anybody by now.)
own_server_runs() {
  local pid
  pid=$(cat "$home/cofferd.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
  tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF -e "$data" || return 1
  server=$(sed -n 's/^cofferd listening on //p' "$home/cofferd.out" 2>/dev/null)
  [ -n "$server" ] && "$bin/coffer" --server "$server" status >/dev/null
}

start_server() {
  mkdir -p "$home"
  : >"$home/cofferd.out"
  setsid "$bin/cofferd" --data "$data" --listen "$listen" --pid-file "$home/cofferd.pid" \
    --log-file "$home/cofferd.log" </dev/null >"$home/cofferd.out" 2>"$home/cofferd.err" &
  server_job=$!
  for _ in $(seq 600); do
    server=$(sed -n 's/^cofferd listening on //p' "$home/cofferd.out")
    [ -z "$server" ] || return 0
    kill -0 "$server_job" 2>/dev/null || break
    sleep 0.1
  done
  echo "quickstart: cofferd did not start:" >&2
  sed 's/^/  /' "$home/cofferd.err" >&2
  if grep -q "cannot listen on" "$home/cofferd.err"; then
    echo "quickstart: stop what listens there, or choose another address:" >&2
    echo "  COFFER_LISTEN=127.0.0.1:7421 deploy/quickstart.sh" >&2
  fi
  exit 1
}

stop_once() {
  local code=$?
  if [ -n "${server_job:-}" ]; then
    kill "$server_job" 2>/dev/null || true
    wait "$server_job" || code=1
  fi
  rm -rf "$home"
  exit "$code"
}

# 1,200 small files, of which every third repeats another's content, and two larger ones that are equal.
generate_tree() {
  local tree=$1 i
  mkdir -p "$tree"/{mail,photos}
  for i in $(seq 1200); do
    printf 'Subject: message %d\n\n%s\n' "$((i % 800))" "The body of message $((i % 800))." >"$tree/mail/$i.eml"
  done
  seq 1000000 >"$tree/photos/original.raw"
  cp "$tree/photos/original.raw" "$tree/photos/copy of original.raw"
}

counter() { coffer --json status | grep -o "\"$1\":[0-9]*" | cut -d: -f2; }

coffer() { "$bin/coffer" --server "$server" "$@"; }

# Puts $1 into bucket $2, gets it back into $3, compares. Adds to $files.
round_trip() {
  local path=$1 bucket=$2 back=$3 expected listed base=$1
  coffer bucket rm "$bucket"
  # Without a file in $path nothing else would make it.
  coffer bucket create "$bucket"
  coffer put -r -b "$bucket" "$path" >"$home/put.sums"
  coffer ls -b "$bucket" >"$home/ls.sums"
  expected=$(find -H "$path" -type f -printf x | wc -c)
  listed=$(wc -l <"$home/ls.sums")
  [ "$expected" -eq "$listed" ] || fail "$path has $expected files, the store lists $listed"
  files=$((files + listed))
  if [ "$listed" -gt 0 ]; then
    coffer get -b "$bucket" --prefix "" --to "$back" >/dev/null
    [ -d "$path" ] || base=$(dirname "$path")
    (cd "$base" && b3sum -c --quiet "$home/ls.sums") || fail "$path differs from what is stored"
    (cd "$back" && b3sum -c --quiet "$home/ls.sums") || fail "what came back differs from what is stored"
  fi
  rm -rf "$back"
  printf '%8d files  %s  (bucket %s)\n' "$listed" "$path" "$bucket"
}

build
if $once; then
  home=$(mktemp -d "${TMPDIR:-/tmp}/coffer-once-XXXXXX")
  data=$home/data
  listen=127.0.0.1:0
  trap stop_once EXIT
fi

say "server"
if ! $once && own_server_runs; then
  echo "reusing the server at $server, pid $(cat "$home/cofferd.pid")"
else
  start_server
  echo "started at $server, data in $data"
fi

default_inputs=false
if [ ${#paths[@]} -eq 0 ]; then
  default_inputs=true
  generate_tree "$home/generated"
  paths=(/usr/share/doc "$home/generated")
fi

say "put, get back, compare"
files=0
stored_before=$(counter content_bytes)
number=0
for path in "${paths[@]}"; do
  number=$((number + 1))
  round_trip "$path" "quickstart-$number-$(basename "$path" | tr -cd 'A-Za-z0-9._-')" "$home/back"
done
if $default_inputs && [ "$files" -lt "$min_default_files" ]; then
  fail "only $files files were found, at least $min_default_files were expected"
fi

say "verify"
coffer verify --all

say "stored"
content=$(counter content_bytes)
referenced=$(counter referenced_bytes)
echo "files put in this run:     $files"
echo "content bytes added:       $((content - stored_before))"
echo "bytes that names refer to: $referenced"
echo "bytes of distinct content: $content"
if [ "$referenced" -gt "$content" ]; then
  echo "saved by deduplication:    $((referenced - content)) ($(((referenced - content) * 100 / referenced)) %)"
else
  echo "saved by deduplication:    0"
fi

if $once; then
  say "done; the server stops"
else
  cat <<TEXT

== ready
The server runs at $server (log: $home/cofferd.log). Use it:

  export PATH="$bin:\$PATH" COFFER_SERVER=$server
  coffer bucket ls
  coffer put README.md
  coffer get README.md
  coffer --help

Stop it:

  kill \$(cat "$home/cofferd.pid")
TEXT
fi
