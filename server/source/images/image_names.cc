#include "server/source/images/image_names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace penstock::source {

bool HasImageExtension(absl::string_view name) {
  for (const absl::string_view extension : absl::StrSplit(kImageExtensions, ' '))
    if (absl::EndsWithIgnoreCase(name, extension)) return true;
  return false;
}

}  // namespace penstock::source
