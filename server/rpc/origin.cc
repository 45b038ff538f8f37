#include "server/rpc/origin.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::rpc {

std::string OriginName(const Origin& origin, uint64_t random) {
  return absl::StrCat("penstock-", absl::Hex(random, absl::kZeroPad16), "-", origin.user, "-",
                      origin.pid);
}

std::optional<Origin> OriginOf(absl::string_view peer) {
  if (!absl::ConsumePrefix(&peer, "unix-abstract:penstock-")) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(peer, '-');
  Origin origin;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[1], &origin.user) ||
      !absl::SimpleAtoi(parts[2], &origin.pid))
    return std::nullopt;
  return origin;
}

}  // namespace penstock::rpc
