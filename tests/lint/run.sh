#!/bin/sh
# Checks that read the sources and run nothing: tests/lint/run.sh [all|quick]
#   quick   formatting, shell scripts, Python: seconds
#   (none)  besides clang's thread-safety analysis over everything
#   all     besides clang-tidy over every file
# clang-tidy sees each file alone, without unity builds and precompiled headers, so that it also finds
# includes that are missing.
set -eu
cd "$(dirname "$0")/../.."
scope=${1:-some}

failed=
check() { # NAME COMMAND...: runs one check, and goes on if it fails
  name=$1
  shift
  if "$@"; then echo "lint: $name: fine"; else failed="$failed $name"; fi
}

format() {
  git ls-files -z '*.h' '*.cc' '*.cu' | xargs -0 clang-format --dry-run -Werror
}

shell_scripts() {
  git ls-files -z | xargs -0 grep -lZE '^#!/(usr/)?bin/(env )?(ba)?sh' |
    xargs -0 shellcheck --exclude=SC1091 # files of the system that they read
}

tools() { # build/lint/venv with ruff and mypy
  venv=$PWD/build/lint/venv
  cmp -s tests/lint/requirements.txt "$venv/requirements.txt" && return
  rm -rf "$venv"
  mkdir -p build/lint
  python3 -m venv --system-site-packages "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/lint/requirements.txt &&
    cp tests/lint/requirements.txt "$venv/requirements.txt"
}

words() {
  python3 tests/lint/words.py
}

python_mistakes() {
  "$venv/bin/ruff" check --quiet --no-cache --config tests/lint/ruff.toml client/python tests deploy
}

python_types() { # of the package as it is installed, but for its extension, which isn't built here
  package=build/lint/python/penstock
  rm -rf "$package"
  mkdir -p "$package"
  ln -s "$PWD"/client/python/penstock/* "$package"
  printf 'from typing import Any\ndef __getattr__(name: str) -> Any: ...\n' >"$package/_penstock.pyi"
  MYPYPATH=build/lint/python "$venv/bin/mypy" --ignore-missing-imports --no-error-summary \
    --cache-dir build/lint/mypy -p penstock
}

configure() { # FOLDER TARGETS OPTION...: a compile database for clang, and what its units include
  folder=$1
  targets=$2
  shift 2
  cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DPENSTOCK_CUDA=OFF \
    -DPENSTOCK_PYTHON=OFF "$@" >"$folder.log" 2>&1 || {
    cat "$folder.log"
    return 1
  }
  # shellcheck disable=SC2086
  ninja -C "$folder" --quiet $targets
}

threads() {
  configure build/lint/units "penstock_generated penstock_library_headers penstock_test_headers" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 &&
    tests/lint/units.py threads build/lint/units
}

mistakes() {
  configure build/lint/files penstock_generated -DCMAKE_BUILD_TYPE=Debug -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON &&
    tests/lint/units.py tidy build/lint/files
}

check formatting format
check words words
check type-names python3 -B tests/lint/type_names.py .
check shell-scripts shell_scripts
if tools; then
  check python-mistakes python_mistakes
  check python-types python_types
else
  failed="$failed python"
fi
case $scope in
  quick) ;;
  all)
    check thread-safety threads
    check clang-tidy mistakes
    ;;
  *)
    check thread-safety threads
    ;;
esac

[ -z "$failed" ] || {
  echo "lint: wrong:$failed; see above" >&2
  exit 1
}
