// Groups of metrics that have files of their own. `metrics.cc` has the others.
#pragma once

#include "server/status/families.h"
#include "server/status/snapshot.h"

namespace penstock::status {

void KeptRows(const KeptRowsFacts& kept, Families& out);
void KeptImages(const KeptRowsFacts& kept, Families& out);
void Stores(const StoreFacts& stores, Families& out);

}  // namespace penstock::status
