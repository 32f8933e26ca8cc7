# shellcheck shell=bash
# What the scripts share: where the project is, how they fail, how they build, and which Python.
# To be sourced.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root
readonly python_modules=(jinja2 matplotlib rich scipy)

# fail CODE TEXT: one line that says what is wrong and what to do; 2 is wrong usage, 1 the rest.
fail() {
  echo "scripts/$(basename "$0"): $2" >&2
  exit "$1"
}

# help: the comment at the head of the script, which is its manual.
help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# quietly WHAT COMMAND...: what the command prints is shown only if it fails.
quietly() {
  local what=$1 log
  shift
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    rm -f "$log"
    return
  fi
  cat "$log" >&2
  rm -f "$log"
  fail 1 "$what failed; its output is above"
}

# build PRESET [TARGET]: the preset's targets, if none is given. On a terminal Ninja shows on one line how far it is.
build() {
  local build=(cmake --build --preset "$1" --parallel "$(nproc)" ${2:+--target "$2"})
  [[ -d $root/build/$1 ]] && echo "Building $1 ..." || echo "Building $1, which takes minutes ..."
  cd "$root"
  quietly "configuring $1" cmake --preset "$1"
  if [[ -t 1 ]]; then
    "${build[@]}" || fail 1 "building $1 failed; see above"
  else
    quietly "building $1" "${build[@]}"
  fi
  cd "$OLDPWD"
}

# find_python: prints the first Python that has what the scripts import. The one on PATH may be
# without the modules that the system's has.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" - "${python_modules[@]}" 2>/dev/null <<'END'
import importlib.util, sys
sys.exit(sys.version_info < (3, 11) or not all(map(importlib.util.find_spec, sys.argv[1:])))
END
    then
      echo "$python"
      return
    fi
  done
  return 1
}

# run_python FILE ARGUMENT...: becomes that program of scripts/lib.
run_python() {
  local python
  python=$(find_python) ||
    fail 1 "no Python 3.11 with ${python_modules[*]}; scripts/setup installs them"
  exec "$python" "$root/scripts/lib/$1" "${@:2}"
}
