// Describes datasets and samples to clients, and logs sessions.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/feed/sessions/open_request.h"
#include "server/rpc/controller.h"

namespace penstock::app {

// Describes a dataset under the caller's name for it and with that name's range. Others may have
// opened it under names that the caller must not see.
rpc::DatasetDescription ToDescription(const std::string& name, const feed::DatasetState& dataset,
                                      const plan::Range& range);

// **Errors**: InvalidArgument names a sample outside of the range.
absl::StatusOr<std::vector<rpc::SampleDescription>> ToDescriptions(
    const std::string& name, const feed::DatasetState& dataset, const plan::Range& range,
    const std::vector<uint64_t>& ids);

void LogOpened(const session::Grant& grant, const feed::OpenRequest& request);

}  // namespace penstock::app
