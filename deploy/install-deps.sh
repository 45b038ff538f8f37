#!/bin/sh
# Installs the distribution's packages that are needed to build Penstock and not installed yet.
#   deploy/install-deps.sh [--tests|--fuzz|--packages|--lint]
# --tests: also what the tests need; --fuzz: as --tests, and clang for fuzz targets and asan;
# --packages: also what is needed to make and test Debian packages; --lint: also what checks the
# sources.
# Tested on Debian 12. On Ubuntu 24.04, --tests installs everything, all of it builds, and
# deploy/quickstart.sh works; --fuzz, --packages and --lint are untested there.
set -eu

fail() {
  echo "install-deps: $1" >&2
  exit "${2:-1}"
}

tests=no
fuzz=no
packages=no
lint=no
for argument; do
  case $argument in
    --tests) tests=yes ;;
    --fuzz) tests=yes fuzz=yes ;;
    --packages) packages=yes ;;
    --lint) lint=yes ;;
    *) fail "unknown argument '$argument'; usage: deploy/install-deps.sh [--tests|--fuzz|--packages|--lint]" 2 ;;
  esac
done

command -v dpkg-query >/dev/null || fail "unsupported distribution: dpkg is missing, so this is neither Debian nor Ubuntu; install a C++20\
 compiler, CMake >= 3.25, Ninja, gRPC, protobuf, Abseil, spdlog, yaml-cpp, nlohmann-json, expat, RE2, libjpeg-turbo, libpng, libwebp, libtiff, libseccomp,\
 GoogleTest and Google Benchmark yourself"

distribution=$(. /etc/os-release && echo "$ID $VERSION_ID")
# Ubuntu has no packages of PyTorch, and Chromium only as a snap, so tests that need them are skipped
# there.
torch=''
chromium=''
case $distribution in
  ubuntu\ *) jpeg=libjpeg-turbo8-dev ;;
  debian\ *) jpeg=libjpeg62-turbo-dev torch="python3-torch python3-torchvision" chromium=chromium ;;
  *) fail "unsupported distribution: got '$distribution', expected Debian 12 or Ubuntu 24.04" ;;
esac

build="g++ cmake ninja-build ccache pkg-config libgrpc-dev libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev
  protobuf-compiler libabsl-dev libspdlog-dev libyaml-cpp-dev nlohmann-json3-dev libexpat1-dev libre2-dev $jpeg libpng-dev libwebp-dev libtiff-dev libssl-dev
  libseccomp-dev libxxhash-dev libcurl4-openssl-dev zlib1g-dev libsystemd-dev libgtest-dev libgmock-dev libbenchmark-dev"
wanted=$build
[ $tests = no ] || wanted="$build python3 python3-dev python3-venv python3-pil python3-numpy
  python3-grpcio python3-protobuf $torch $chromium python3-yaml systemd
  fish groff man-db zsh squashfs-tools mount openssl"
# Where systemd runs, installing Debian's Prometheus starts a server. So it is left out there, and the
# tests that need it report that they are skipped.
[ $tests = no ] || [ -d /run/systemd/system ] || wanted="$wanted prometheus"
[ $fuzz = no ] || wanted="$wanted clang libclang-rt-dev"
[ $lint = no ] ||
  wanted="$wanted clang clang-tidy clang-format shellcheck python3-venv libgtest-dev libgmock-dev"
[ $packages = no ] ||
  wanted="$wanted dpkg-dev file python3 python3-dev python3-venv debootstrap lintian"

# One call for all packages: dpkg-query lists each installed package once, and reports an error for the
# others.
# shellcheck disable=SC2086
present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null || true)
missing=
for package in $wanted; do
  echo "$present" | grep -qxF "installed $package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "missing packages:$missing; run this as root, or: apt-get install --no-install-recommends$missing"
  sudo=sudo
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# Runs apt-get silently. If it fails, prints its last error in one line.
apt() {
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" \
    >"$log" 2>&1 </dev/null && return
  fail "apt-get $1 failed: $(grep '^E:' "$log" | tail -n 1 | grep . || tail -n 1 "$log");\
 missing packages:$missing; check the network and /etc/apt/sources.list, then run this again"
}

echo "install-deps: installing$missing" >&2
apt update
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing
