#include "server/source/files/remote_file.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock::source {

absl::Status ToReadStatus(absl::Status read) {
  if (!absl::IsNotFound(read)) return read;
  return absl::DataLossError(
      absl::StrCat(read.message(), "; it was there when the dataset was opened"));
}

std::string ToVersionName(absl::string_view etag, absl::string_view modified) {
  absl::ConsumePrefix(&etag, "W/");
  absl::ConsumePrefix(&etag, "\"");
  absl::ConsumeSuffix(&etag, "\"");
  if (!etag.empty()) return std::string(etag);
  return modified.empty() ? "" : absl::StrCat("Last-Modified: ", modified);
}

bool IsRemotePath(absl::string_view text) {
  for (const absl::string_view scheme : {"s3://", "gs://", "https://", "http://"})
    if (absl::StartsWithIgnoreCase(text, scheme)) return true;
  return false;
}

}  // namespace penstock::source
