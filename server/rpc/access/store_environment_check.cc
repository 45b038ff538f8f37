#include "server/rpc/access/store_environment_check.h"

#include "common/base/store_environment.h"

namespace penstock::rpc {

absl::Status CheckStoreEnvironment(const std::string& dataset, const StoreVariables& theirs) {
  if (theirs.hash == base::StoreEnvironmentFor(dataset)) return absl::OkStatus();
  const std::string names =
      base::DifferingStoreVariables(base::StoreVariableMarksFor(dataset), theirs.marks);
  return absl::FailedPreconditionError(absl::StrCat(
      "this daemon was started with other variables for stores than this program has now",
      names.empty() ? " (AWS_*, GCS_*, HOME, proxies or certificates)" : ": ", names,
      "; so the URL could lead to other files; give both the same ones, or end the daemon's other "
      "sessions and wait 10 s until it has ended"));
}

}  // namespace penstock::rpc
