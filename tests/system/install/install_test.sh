#!/bin/sh
# install_test.sh CMAKE BUILD: installs BUILD into a temporary prefix, builds the consumer against
# it and runs it without a daemon. The same in C, by pkg-config, and the .proto files by protoc.
set -eu
cmake=$1
build=$2
here=$(cd "$(dirname "$0")" && pwd)

room=$(mktemp -d)
trap 'rm -rf -- "$room"' EXIT
"$cmake" --install "$build" --prefix "$room/moved" >"$room/log" || { cat "$room/log"; exit 1; }
mv "$room/moved" "$room/prefix"  # the installed tree must be relocatable

for path in bin/penstockd bin/penstock-worker bin/penstock-indexer bin/penstockctl bin/penstock-bench \
  include/penstock/penstock.h include/penstock/c.h share/penstock/proto/penstock/v1/feed.proto \
  share/penstock/grafana/penstock.json \
  share/penstock/grafana/alerts.yml share/penstock/network.conf share/penstock/stores.conf \
  share/bash-completion/completions/penstockctl share/zsh/site-functions/_penstockctl \
  share/fish/vendor_completions.d/penstockctl.fish \
  share/man/man1/penstockctl.1 share/man/man1/penstockctl-wait.1 share/man/man1/penstock-bench.1 share/man/man8/penstockd.8 \
  share/man/man8/penstock-worker.8 share/man/man8/penstock-indexer.8 share/man/man5/penstock.yaml.5 share/man/man5/penstockd.yaml.5; do
  [ -e "$room/prefix/$path" ] || { echo "not installed: $path"; exit 1; }
done
if ldd "$room/prefix/bin/penstockd" | grep -q libsystemd; then
  for path in lib/systemd/system/penstockd.service lib/systemd/user/penstockd.service \
    lib/sysusers.d/penstock.conf lib/tmpfiles.d/penstock.conf share/penstock/penstock.yaml; do
    [ -f "$room/prefix/$path" ] || { echo "not installed: $path"; exit 1; }
  done
fi
for page in $(sed -n 's|.*file:///usr/||p' "$room/prefix/share/penstock/grafana/alerts.yml") \
  share/doc/penstock/README.md share/doc/penstock/client/python/README.md; do
  [ -s "$room/prefix/${page%\"}" ] || { echo "not installed: $page"; exit 1; }
done
# Installed programs must not load libraries from a build folder.
for program in "$room"/prefix/bin/*; do
  if ldd "$program" | grep -E "not found|$build"; then echo "in $program, see above"; exit 1; fi
done

# Runs a step and prints its output only if it fails.
quietly() {
  "$@" >"$room/log" 2>&1 || { cat "$room/log"; exit 1; }
}
quietly "$cmake" -S "$here/consumer" -B "$room/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$room/prefix"
quietly "$cmake" --build "$room/consumer"
answer=$("$room/consumer/consumer" "$room/no.sock")
echo "the consumer said: $answer"
case $answer in
  "no daemon: "?*) ;;
  *) echo "it should have said that there is no daemon, and why"; exit 1 ;;
esac

# In C, without CMake: whatever the installed tree's place, pkg-config finds it.
PKG_CONFIG_PATH=$(dirname "$(find "$room/prefix" -name penstock.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
quietly cc -std=c99 -pedantic -Wall -Wextra -Werror -o "$room/trainer" \
  "$here/../../../client/examples/trainer.c" $(pkg-config --cflags --libs penstock) \
  "-Wl,-rpath,$(pkg-config --variable=libdir penstock)"
if said=$(PENSTOCK_ADDRESS=$room/no.sock "$room/trainer" photographs 2>&1); then
  echo "the trainer should have failed"; exit 1
fi
echo "the C trainer said: $said"
case $said in
  "penstock: not found: "?*) ;;
  *) echo "it should have said that there is no daemon"; exit 1 ;;
esac
[ "$(pkg-config --modversion penstock)" = "$("$room/prefix/bin/penstockctl" --version | cut -d' ' -f2)" ] || {
  echo "penstock.pc has another version than penstockctl"; exit 1
}

protos=$(pkg-config --variable=protodir penstock)
for file in "$protos"/penstock/v1/*.proto "$protos"/penstock/config/v1/*.proto; do
  quietly protoc -I "$protos" --descriptor_set_out="$room/descriptor" "$file"
  [ -s "$room/descriptor" ] || { echo "protoc made nothing of $file"; exit 1; }
done
