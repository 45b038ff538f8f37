// What the stores' counts are to the metrics and to status reports.
#pragma once

#include <optional>

#include "penstock/v1/admin.pb.h"
#include "server/status/snapshot.h"
#include "server/store/files/store_files.h"

namespace penstock::app {

status::StoreFacts ToStoreFacts(const store::StoreCounts& counts);
v1::StoreStatus ReportStores(const store::StoreCounts& counts, const store::StoreRates& rates);
// The same of these stores; not set if there are none, or nothing was asked of them. Any thread.
std::optional<v1::StoreStatus> ReportStores(const store::StoreFiles* stores);

}  // namespace penstock::app
