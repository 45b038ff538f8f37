// TooManyExtensions of shard_manifest_builder.h, which a scan needs, too.
#include "absl/strings/str_cat.h"
#include "server/source/files/escape.h"
#include "server/source/shards/shard_manifest_builder.h"

namespace penstock::source {

absl::Status TooManyExtensions(const std::string& example) {
  return absl::InvalidArgumentError(absl::StrCat(
      "samples have more than ", kMostExtensions, " kinds of members, such as '",
      EscapeForDisplay(example.substr(0, 100)),
      "': a member's kind is what follows the first dot of its name, so that keys must not "
      "have dots; pack the shards anew"));
}

}  // namespace penstock::source
