#!/bin/sh
# webdataset_python.sh FOLDER: prints the path of a Python that has webdataset, and creates a
# virtual environment for it in FOLDER if necessary. If it cannot be installed, says why and exits
# with 77.
set -eu
venv=$1/webdataset-venv
wanted='webdataset==1.0.2'
if ! "$venv/bin/python" -c 'import webdataset' 2>/dev/null; then
  rm -rf "$venv"
  # shellcheck disable=SC2015
  /usr/bin/python3 -m venv --system-site-packages "$venv" >&2 &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$wanted" >&2 &&
    "$venv/bin/python" -c 'import webdataset' >&2 || {
    rm -rf "$venv"
    echo "SKIPPED: no $wanted from PyPI; see above, and check the network or PIP_INDEX_URL" >&2
    exit 77
  }
fi
echo "$venv/bin/python"
