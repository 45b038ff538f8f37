#include "server/rpc/transport/origin.h"

#include "absl/strings/str_cat.h"

namespace penstock::rpc {

std::string OriginName(const Origin& origin, uint64_t random) {
  return absl::StrCat("penstock-", absl::Hex(random, absl::kZeroPad16), "-", origin.user, "-",
                      origin.pid);
}

}  // namespace penstock::rpc
