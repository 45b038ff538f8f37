// Converts the configuration to each part's options. Pure, except that it looks up groups.
#pragma once

#include "common/base/status.h"
#include "common/posix/machine.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/catalog/catalog.h"
#include "server/app/service/given_orders.h"
#include "server/feed/engine/engine.h"
#include "server/indexer/indexers.h"
#include "server/kept/row_store.h"

namespace penstock::app {

// What clients may open: configured names, or also any path that the daemon's user may read.
enum class Paths { kNamed, kAny };

// **Errors**: InvalidArgument names a group that doesn't exist.
absl::StatusOr<Catalog::Offer> ToOffer(const config::v1::Config& config);
absl::StatusOr<Catalog::Options> CatalogOptions(const config::v1::Config& config, Paths paths);

GivenOrders::Options GivenOrdersOptions(const config::v1::Config& config);

feed::Admission ToAdmission(const config::v1::Config& config);

// Whether workers and indexers must be sandboxed.
bool HasSandbox(const config::v1::Config& config);

indexer::Indexers::Options ToIndexers(const config::v1::Config& config,
                                      const posix::Machine& machine);

kept::KeptRowStore::Options KeptRowsOptions(const config::v1::Config& config);
kept::KeptRowStore::Options KeptImagesOptions(const config::v1::Config& config);
bool KeepsRows(const config::v1::Config& config);

// How many threads fill batches: they read for workers, copy rows, and keep them (server/README.md
// lists all threads). They begin at the start.
size_t FillingThreads(const config::v1::Config& config, const posix::Machine& machine);

feed::Engine::Options EngineOptions(const config::v1::Config& config,
                                    const posix::Machine& machine);

}  // namespace penstock::app
