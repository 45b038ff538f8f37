// Between the contract's words for a session and the engine's.
#pragma once

#include <vector>

#include "server/app/catalog/catalog.h"
#include "server/doorway/doorway.h"
#include "server/feed/engine/engine.h"
#include "server/rpc/controller.h"

namespace penstock::app {

// What a session's feed is made of.
struct FeedParts {
  Catalog::State dataset;
  plan::Range range;                                   // what of it the session may have
  std::shared_ptr<const feed::GivenOrder> given = {};  // null: none was given; shared
};

// InvalidArgument: the order is not one of this dataset, the range is not within it, or the dataset
// cannot be fed as asked.
absl::StatusOr<feed::OpenRequest> RequestOf(const rpc::SessionRequest& from,
                                            const doorway::Peer& peer, FeedParts parts);
// Of a dataset by the name that its asker has for it, which means these samples of it. What is open
// may have been opened by others, by a name that is none of the asker's business.
rpc::DatasetDescription DescriptionOf(const std::string& name, const feed::DatasetState& dataset,
                                      const plan::Range& range);
rpc::SessionGrant GrantOf(const feed::Grant& grant, const feed::OpenRequest& request);
std::vector<rpc::Slab> SlabsOf(const std::vector<exporting::SlabFacts>& slabs);

// InvalidArgument names a sample that is not in the range.
absl::StatusOr<std::vector<rpc::SampleDescription>> DescriptionsOf(
    const std::string& name, const feed::DatasetState& dataset, const plan::Range& range,
    const std::vector<uint64_t>& ids);

void LogOpened(const feed::Grant& grant, const feed::OpenRequest& request);

}  // namespace penstock::app
