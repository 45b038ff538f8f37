// Groups of metrics that have files of their own. `metrics.cc` has the others.
#pragma once

#include <string>

#include "server/status/families.h"
#include "server/status/snapshot.h"

namespace penstock::status {

void KeptRows(const KeptRowsFacts& kept, Families& out);
void KeptImages(const KeptRowsFacts& kept, Families& out);
// Histograms. Omits those that have no observations.
void Times(const Snapshot& snapshot, Families& out);
void Stores(const StoreFacts& stores, Families& out);

// The upper limit of a histogram's bucket, for its label `le`.
std::string ToLimitText(double limit);

}  // namespace penstock::status
