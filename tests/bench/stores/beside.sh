#!/bin/sh
# Compares loaders that read from an object store: tests/bench/stores/beside.sh [OPTION]...
# The first time, it installs the others into build/bench-stores, which takes some gigabytes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
venv=${PENSTOCK_BENCH_VENV:-$root/build/bench-stores}
python_package=${PENSTOCK_PYTHON:-$root/build/release/python}
if [ ! -d "$python_package/penstock" ]; then
  echo "beside.sh: $python_package has no Python package; run tests/python/venv.sh && deploy/build.sh release" >&2
  exit 1
fi
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$venv/requirements.txt"
fi
# The servers of the tests: rclone is a package of PyPI in build/venv.
PENSTOCK_STORES_VENV=${PENSTOCK_STORES_VENV:-$root/build/venv} PYTHONPATH=$python_package \
  exec "$venv/bin/python" -B "$here/beside.py" "$@"
