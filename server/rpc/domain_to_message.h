// Converts domain types to messages. Pure.
#pragma once

#include <vector>

#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"
#include "penstock/v1/feed.pb.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

v1::OpenSessionResponse MessageOf(const session::Grant& grant);
v1::ListSlabsResponse MessageOf(const std::vector<exporting::SlabFacts>& slabs);
v1::DescribeDatasetResponse MessageOf(const DatasetDescription& description);
v1::DescribeSamplesResponse MessageOf(const std::vector<SampleDescription>& samples);
v1::GetProgressResponse MessageOf(const Progress& progress);
v1::IndexDatasetResponse MessageOf(const IndexProgress& progress);

}  // namespace penstock::rpc
