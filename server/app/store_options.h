// What the configuration says about object stores, as their client needs it.
#pragma once

#include "common/base/status.h"
#include "penstock/config/v1/stores.pb.h"
#include "server/store/files/settings.h"

namespace penstock::app {

// Pure. `environment`: the daemon's, of which only variables that name the places of roles count,
// and all of them for credentials `search`. **Requires**: the configuration was checked.
// **Errors**: InvalidArgument: a URL is none.
absl::StatusOr<store::StoreSettings> ToStoreSettings(const config::v1::Stores& stores,
                                                     const store::Environment& environment);

// Reads the files that it names: profiles, tokens, certificates. **Errors**: FailedPrecondition for
// the first that cannot be read, or a profile that gives no keys; names the configuration's key.
absl::Status CheckStoreFiles(const config::v1::Stores& stores);

}  // namespace penstock::app
