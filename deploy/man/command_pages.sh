#!/bin/sh
# command_pages.sh BIN [FOLDER]: makes the manual pages of penstockctl's commands of its help. BIN
# has the program; FOLDER is by default commands/ beside this script.
set -eu
folder=${2:-$(dirname "$0")/commands}
commands=$("$1/penstockctl" help | sed -n 's/^  \([a-z]*\)[a-z A-Z\[-]*.*  [a-zA-Z].*$/\1/p' | grep -v '^penstockctl$' | sort -u)
for command in $commands; do
  "$1/penstockctl" -o man help "$command" >"$folder/penstockctl-$command.1"
done
