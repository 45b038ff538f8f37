#include "client/ctl/cache/fetch_command.h"

#include <cstdlib>
#include <optional>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/ctl/scripting/yaml.h"
#include "client/ctl/table.h"
#include "client/ctl/views.h"
#include "client/src/connection/address.h"
#include "client/src/connection/private_daemon.h"
#include "common/base/clock.h"
#include "common/base/store_environment.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

constexpr base::Duration kStartFor = std::chrono::seconds(30);

std::string ShowFetched(const v1::IndexDatasetResponse& fetched) {
  std::string text =
      absl::StrCat(Count(fetched.samples_fetched()), " of ", Count(fetched.samples_to_fetch()),
                   " samples are in the cache; ", base::FormatBytes(fetched.bytes_fetched()),
                   " fetched, not counting what indexing read\n");
  if (!fetched.warning().empty())
    absl::StrAppend(&text, "warning: ", OneLine(fetched.warning()), "\n");
  return text;
}

}  // namespace

absl::StatusOr<std::string> FindDaemonToFetch(const Call& call) {
  const char* const named = std::getenv("PENSTOCK_ADDRESS");
  const bool is_named = !call.address.empty() || (named != nullptr && *named != '\0');
  if (is_named || base::StoreEnvironmentFor(call.dataset) == 0)
    return client::FindDaemonToOperate(call.address);
  return client::StartPrivateDaemon(kStartFor);
}

absl::StatusOr<int> RunFetch(AdminClient& daemon, const Call& call, Progress::Style style,
                             std::ostream& out, std::ostream& progress) {
  const base::SteadyClock clock;
  std::optional<Progress> shown;
  v1::IndexDatasetRequest request;
  request.set_dataset(call.dataset);
  request.set_fetch(true);
  request.set_store_environment(base::StoreEnvironmentFor(call.dataset));
  request.set_store_variables(base::StoreVariableMarksFor(call.dataset));
  const auto fetched = daemon.IndexDataset(request, [&](const v1::IndexDatasetResponse& update) {
    if (update.done()) return true;
    if (!shown || (update.samples_to_fetch() > 0 && shown->expected() == 0))
      shown.emplace(style, update.samples_to_fetch(), clock.Now(),
                    update.samples_to_fetch() > 0 ? "samples" : "files");
    const uint64_t files =
        update.samples_to_fetch() > 0 ? update.samples_fetched() : update.files_seen();
    progress << shown->Update(files, clock.Now()) << std::flush;
    return true;
  });
  if (shown) progress << shown->End() << std::flush;
  PENSTOCK_RETURN_IF_ERROR(fetched.status());
  out << (IsForPrograms(call.output) ? ForPrograms(call.output, Json(*fetched))
                                     : ShowFetched(*fetched));
  return 0;
}

}  // namespace penstock::ctl
