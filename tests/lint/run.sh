#!/bin/sh
# Runs checks that read the sources and execute nothing: tests/lint/run.sh [all|quick|CHECK]...
#   quick   formatting, words, type-names, shell-scripts, layering, python-mistakes,
#           python-types; takes seconds
#   (none)  also some-includes and some-clang-tidy
#   all     also thread-safety, and clang-tidy for everything
# A CHECK is one of these names. some-clang-tidy checks the units (of a unity build, some three files
# each) with files that changed since the last release, at most PENSTOCK_LINT_UNITS of them; units.py
# selects them. some-includes compiles PENSTOCK_LINT_FILES files alone; tests/run.sh no-unity does so
# with all of them. Every build by clang checks the thread safety, as tests/run.sh asan does.
set -eu
cd "$(dirname "$0")/../.."
quick="formatting words type-names shell-scripts layering python-mistakes python-types"
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $quick some-includes some-clang-tidy
# shellcheck disable=SC2086
case $* in
  quick) set -- $quick ;;
  all) set -- $quick thread-safety clang-tidy ;;
esac

failed=
check() { # NAME COMMAND...: runs one check and continues if it fails
  name=$1
  shift
  if "$@"; then echo "lint: $name: fine"; else failed="$failed $name"; fi
}

formatting() {
  git ls-files -z '*.h' '*.cc' '*.cu' | xargs -0 clang-format --dry-run -Werror
}

shell_scripts() {
  git ls-files -z | xargs -0 grep -lZE '^#!/(usr/)?bin/(env )?(ba)?sh' |
    xargs -0 shellcheck --exclude=SC1091 && # system files that scripts include
    shellcheck --shell=bash client/ctl/completions/penstockctl.bash
}

layering() { # allowed includes, file lengths, links and names in documents
  python3 -B tests/unit/layering/layering_test.py "$PWD" &&
    python3 -B tests/unit/deploy/documents_test.py "$PWD"
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

python_types() { # of the package as installed, without its extension, which isn't built here
  package=build/lint/python/penstock
  rm -rf "$package"
  mkdir -p "$package"
  ln -s "$PWD"/client/python/penstock/* "$package"
  for extension in _penstock _decode; do
    printf 'from typing import Any\ndef __getattr__(name: str) -> Any: ...\n' >"$package/$extension.pyi"
  done
  MYPYPATH=build/lint/python "$venv/bin/mypy" --ignore-missing-imports --no-error-summary \
    --cache-dir build/lint/mypy -p penstock
}

configure() { # FOLDER OPTION...: makes a compile database of unity units, and the headers they include
  folder=$1
  shift
  mkdir -p build/lint
  cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DPENSTOCK_CUDA=OFF \
    -DPENSTOCK_PYTHON=OFF -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 "$@" >"$folder.log" 2>&1 || {
    cat "$folder.log"
    return 1
  }
  ninja -C "$folder" --quiet penstock_generated penstock_library_headers penstock_test_headers \
    penstock_optimized_test_headers
}

# Without our Huffman decoder, so that this configuration is checked too.
threads() {
  configure build/lint/units -DPENSTOCK_OWN_HUFFMAN=OFF && tests/lint/units.py threads build/lint/units
}

# Without our Huffman decoder, so that this configuration is checked too.
includes() { # of files alone, some in turn
  configure build/lint/files -DPENSTOCK_OWN_HUFFMAN=OFF -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON &&
    tests/lint/units.py includes build/lint/files --most "${PENSTOCK_LINT_FILES:-100}"
}

mistakes() { # [--most N]
  configure build/lint/tidy && tests/lint/units.py tidy build/lint/tidy "$@"
}

for name; do
  case $name in
    formatting) check formatting formatting ;;
    words) check words words ;;
    type-names) check type-names python3 -B tests/lint/type_names.py . ;;
    shell-scripts) check shell-scripts shell_scripts ;;
    layering) check layering layering ;;
    python-mistakes) if tools; then check python-mistakes python_mistakes; else failed="$failed ruff"; fi ;;
    python-types) if tools; then check python-types python_types; else failed="$failed mypy"; fi ;;
    thread-safety) check thread-safety threads ;;
    some-includes) check some-includes includes ;;
    some-clang-tidy) check some-clang-tidy mistakes --most "${PENSTOCK_LINT_UNITS:-24}" ;;
    clang-tidy) check clang-tidy mistakes ;;
    *)
      echo "lint: there is no check '$name'; see the first lines of tests/lint/run.sh" >&2
      exit 2
      ;;
  esac
done

[ -z "$failed" ] || {
  echo "lint: wrong:$failed; see above" >&2
  exit 1
}
