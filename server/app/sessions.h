// What clients are told of datasets and samples, and the log of sessions.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/feed/engine/open_request.h"
#include "server/rpc/controller.h"

namespace penstock::app {

// Of a dataset by the name that its asker has for it, which means these samples of it. What is open
// may have been opened by others, by a name that is none of the asker's business.
rpc::DatasetDescription DescriptionOf(const std::string& name, const feed::DatasetState& dataset,
                                      const plan::Range& range);

// InvalidArgument names a sample that is not in the range.
absl::StatusOr<std::vector<rpc::SampleDescription>> DescriptionsOf(
    const std::string& name, const feed::DatasetState& dataset, const plan::Range& range,
    const std::vector<uint64_t>& ids);

void LogOpened(const session::Grant& grant, const feed::OpenRequest& request);

}  // namespace penstock::app
