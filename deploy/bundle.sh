#!/bin/bash
# Packs the build into one relocatable tarball for any x86-64 Linux with glibc >= 2.36: programs,
# client library, headers, GPU tests, and the shared libraries that they need. Using it needs neither
# root nor an installation: unpack it anywhere and run bin/penstockd.
#   deploy/bundle.sh [--output FILE] [--no-build] [--failpoints]
# With --failpoints it contains only what tests/gpu/run.sh failpoints_gpu_test needs, from the preset
# failpoints. That is never for users.
# It does not contain what every system has itself: the C and C++ runtime libraries and the GPU driver.
set -eu

fail() {
  echo "bundle: $1" >&2
  exit "${2:-1}"
}
usage="usage: deploy/bundle.sh [--output FILE] [--no-build] [--failpoints]"

output=
build=yes
preset=release
while [ $# -gt 0 ]; do
  case $1 in
    --output) [ $# -ge 2 ] || fail "--output needs a file; $usage" 2; output=$2; shift ;;
    --no-build) build=no ;;
    --failpoints) preset=failpoints ;;
    *) fail "unknown argument '$1'; $usage" 2 ;;
  esac
  shift
done
here=$PWD
cd "$(dirname "$0")/.."
built=$PWD/build/$preset
machine=$(uname -m)
[ "$machine" = x86_64 ] || fail "unsupported machine: got $machine, expected x86_64"

if [ $build = yes ]; then
  deploy/install-deps.sh --tests
  targets=
  [ $preset = release ] || targets="failpoints_gpu_test penstock_no_jbig"
  # shellcheck disable=SC2086
  deploy/build.sh $preset $targets
fi
[ -x "$built/bin/penstockd" ] || fail "nothing is built in build/$preset; run without --no-build"
version=$(sed -n 's/^project(penstock VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=penstock-$version-linux-$machine
[ $preset = release ] || name=penstock-$preset-$machine
output=${output:-build/$name.tar.gz}
case $output in /*) ;; *) output=$here/$output ;; esac
[ "$output" != "$here/build/$name.tar.gz" ] || output=$PWD/build/$name.tar.gz

room=$(mktemp -d)
trap 'rm -rf -- "$room"' EXIT
tree=$room/$name
mkdir -p "$tree/bin" "$tree/lib" "$tree/include" "$tree/tests/gpu"

programs="penstockd penstock-worker penstock-indexer penstockctl penstock-make-photographs"
[ $preset != release ] || programs="$programs penstock-example-epoch"
for program in $programs; do cp "$built/bin/$program" "$tree/bin/"; done
# Programs that a smaller build may lack.
for path in "$built"/bin/penstock-bench "$built"/bin/*_gpu_test "$built"/bin/penstock-gpu-*; do
  [ ! -x "$path" ] || cp "$path" "$tree/bin/"
done
[ $preset != release ] || cp -P "$built"/lib/libpenstock.so* "$tree/lib/"
# Ours in place of the GPL's libjbig, which libtiff needs: the programs look into lib/ first.
cp "$built/no_jbig/libjbig.so.0" "$tree/lib/"
cp -R client/include/penstock "$tree/include/"
cp LICENSE README.md CHANGELOG.md "$tree/"
cp tests/gpu/run.sh tests/gpu/report.sh "$tree/tests/gpu/"
# A bundle has no git history, so record the version and commit.
{ echo "$version"; git describe --always --dirty 2>/dev/null || true; } | paste -sd' ' >"$tree/VERSION"
strip --strip-unneeded "$tree"/bin/* "$tree"/lib/libpenstock.so.*.* 2>/dev/null || true

# The shared libraries that the loader finds on this machine, except those that every system has.
everybodys='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s))\.so'
needed() {
  ldd "$tree"/bin/* "$tree"/lib/*.so.* 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    sort -u | while read -r library; do
      basename "$library" | grep -qE "$everybodys" || echo "$library"
    done
}
# Copies each library with its licence.
mkdir "$tree/licenses"
needed | while read -r library; do
  case $library in "$tree"/*) continue ;; esac
  cp -L "$library" "$tree/lib/"
  deploy/copy-licence.sh "$library" "$tree/licenses"
done
cmp -s "$built/no_jbig/libjbig.so.0" "$tree/lib/libjbig.so.0" ||
  fail "the bundle has a libjbig that is not server/decode/no_jbig, whose licence would be the bundle's"

# Check that the tree is complete: no library is missing or taken from this machine.
missing=$(ldd "$tree"/bin/* 2>&1 | grep 'not found' || true)
[ -z "$missing" ] || fail "the bundle lacks libraries: $missing"
strays=$(ldd "$tree"/bin/* 2>/dev/null | awk '$2 == "=>" { print $3 }' | grep -v "^$tree/" | sort -u |
  while read -r path; do basename "$path" | grep -qE "$everybodys" || echo "$path"; done)
[ -z "$strays" ] || fail "the programs would still load libraries from this machine: $strays"
empty=$(objdump -p "$tree"/bin/* "$tree"/lib/libpenstock.so.* 2>/dev/null |
  grep -E 'R(UN)?PATH +(:|.*::|.*:$)' || true)
[ -z "$empty" ] || fail "a library search path has an empty entry, which stands for the current directory: $empty"
newest=$(objdump -T "$tree"/bin/* "$tree"/lib/*.so* 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
[ "$(printf '%s\nGLIBC_2.36\n' "$newest" | sort -V | tail -1)" = GLIBC_2.36 ] ||
  fail "the bundle would need $newest, expected at most GLIBC_2.36; build it on a system with glibc 2.36"

mkdir -p "$(dirname "$output")"
tar -C "$room" --owner=0 --group=0 --sort=name -czf "$output.new" "$name"
mv "$output.new" "$output"
echo "$output: $(du -h "$output" | cut -f1), needs $newest and x86-64"
