#include "server/rpc/access/store_environment_check.h"

#include "common/base/store_environment.h"

namespace penstock::rpc {

absl::Status CheckStoreEnvironment(const std::string& dataset, uint64_t theirs) {
  if (theirs == base::StoreEnvironmentFor(dataset)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this daemon was started with other variables for stores (AWS_*, GCS_*, HOME, proxies or "
      "certificates) than this program has now, so the URL could lead to other files; give both "
      "the "
      "same ones, or end the daemon's other sessions and wait 10 s until it has ended");
}

}  // namespace penstock::rpc
