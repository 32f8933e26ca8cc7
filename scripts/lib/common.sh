# shellcheck shell=bash
# Functions for all scripts: errors, builds, and the choice of a Python. Scripts source this file.
set -euo pipefail

# A caller that closes the output wants none; without this, the first echo would fail.
[[ -e /dev/fd/1 ]] || exec >/dev/null

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root
readonly python_modules=(jinja2 matplotlib rich)

# fail CODE TEXT: prints one line, which says what is wrong and what to do. CODE is 2 for wrong
# usage, else 1.
fail() {
  echo "scripts/$(basename "$0"): $2" >&2
  exit "$1"
}

# help: prints the script's manual, which is the comment at its head.
help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# not_understood ARGUMENT: fails, for the script does not know the argument.
not_understood() { fail 2 "'$1' is not understood; see scripts/$(basename "$0") --help"; }

# open_log NAME: opens a file for reading and writing, and sets NAME to its path. The file is in no
# folder, so nothing of it is left when the script ends, however it ends.
open_log() {
  local name fd
  name=$(mktemp)
  exec {fd}<>"$name"
  rm -f "$name"
  printf -v "$1" /proc/self/fd/%s "$fd"
}

# quietly WHAT COMMAND...: runs the command; shows its output only if it fails.
quietly() {
  local what=$1 log
  shift
  open_log log
  "$@" >"$log" 2>&1 && return
  cat "$log" >&2
  fail 1 "$what failed; its output is above"
}

# build PRESET [TARGET]: builds the target, or all of the preset. On a terminal Ninja shows its
# progress on one line.
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

# find_python: prints the first Python that has the modules of the scripts. The one on PATH may lack
# the modules of the system's Python.
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

# run_python FILE ARGUMENT...: replaces the shell by this program of scripts/lib. An installed one
# leaves no file beside itself.
run_python() {
  local python
  [[ -e $root/CMakeLists.txt ]] || export PYTHONDONTWRITEBYTECODE=1
  python=$(find_python) ||
    fail 1 "no Python 3.11 with ${python_modules[*]}; scripts/setup installs them"
  exec "$python" "$root/scripts/lib/$1" "${@:2}"
}
