#!/bin/sh
# Copies the licence of one shared library, as its package of the distribution has it, and the texts
# that it refers to: for bundle.sh and the Python wheel, which carry copies of libraries.
#   deploy/copy-licence.sh LIBRARY FOLDER
set -eu

fail() {
  echo "copy-licence: $1" >&2
  exit "${2:-1}"
}
[ $# -eq 2 ] || fail "usage: deploy/copy-licence.sh LIBRARY FOLDER" 2
library=$1
folder=$2
common=/usr/share/common-licenses

# The package may know the file by its name from before /lib became a link to /usr/lib.
file=$(realpath -- "$library")
package=$(dpkg-query -S "$file" "${file#/usr}" 2>/dev/null | head -n 1 | cut -d: -f1)
[ -n "$package" ] || fail "unknown licence: no package owns $library; take it from a package of the distribution"
mkdir -p -- "$folder"
cp -L "/usr/share/doc/$package/copyright" "$folder/$package" || fail "unknown licence: $package has no copyright file"

grep -oE "$common/[A-Za-z0-9.+-]*[A-Za-z0-9]" "$folder/$package" | sort -u | while read -r text; do
  [ -f "$text" ] || continue
  mkdir -p -- "$folder/common-licenses"
  cp -L "$text" "$folder/common-licenses/"
done
