#!/bin/sh
# Makes build/venv, a virtual environment based on the distribution's Python, with requirements.txt
# installed. Does nothing if it exists. CMake finds it automatically.
set -eu
cd "$(dirname "$0")/../.."

venv=$PWD/build/venv
wanted=tests/python/requirements.txt
if cmp -s "$wanted" "$venv/requirements.txt" && "$venv/bin/python" -c 'import nanobind' 2>/dev/null; then
  exit 0
fi
echo "venv: making build/venv for the Python package" >&2
rm -rf "$venv"
mkdir -p build
/usr/bin/python3 -m venv --system-site-packages "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$wanted" >&2 || {
  rm -rf "$venv"
  echo "venv: pip could not install what $wanted names; see above. Without it the Python package is not" \
    "built: check the network, or PIP_INDEX_URL" >&2
  exit 1
}
cp "$wanted" "$venv/requirements.txt"
