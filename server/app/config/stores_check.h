// Checks what the configuration says about object stores.
#pragma once

#include <string>

#include "penstock/config/v1/stores.pb.h"
#include "server/app/config/config_checker.h"

namespace penstock::app {

void CheckStores(const config::v1::Stores& stores, ConfigChecker& checker);

// An absolute path, or a URL that lies in one of `stores.places`; both may have braces.
void CheckPathOrUrl(const std::string& text, const config::v1::Stores& stores,
                    const std::string& at, ConfigChecker& checker);

}  // namespace penstock::app
