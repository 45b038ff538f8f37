// The routes of the metrics port's pages.
#pragma once

#include "server/status/http_server.h"
#include "server/status/page/pages.h"

namespace penstock::app {

// Adds them to the port's routes. **Requires**: `pages` outlives the server.
void AddPageRoutes(status::Pages& pages, status::HttpServer::Routes& routes);

}  // namespace penstock::app
