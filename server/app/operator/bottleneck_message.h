// A feed's bottleneck as operators get it.
#pragma once

#include "penstock/v1/admin.pb.h"
#include "server/feed/stats/verdict.h"

namespace penstock::app {

v1::Bottleneck ToMessage(feed::Bottleneck bottleneck);

}  // namespace penstock::app
