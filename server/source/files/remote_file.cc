#include "server/source/files/remote_file.h"

#include "absl/strings/match.h"

namespace penstock::source {

bool IsRemotePath(absl::string_view text) {
  for (const absl::string_view scheme : {"s3://", "gs://", "https://", "http://"})
    if (absl::StartsWithIgnoreCase(text, scheme)) return true;
  return false;
}

}  // namespace penstock::source
