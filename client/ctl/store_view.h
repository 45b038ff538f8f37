// How the daemon reads object stores, in a line. Pure.
#pragma once

#include <string>

#include "penstock/v1/status.pb.h"

namespace penstock::ctl {

// "412.0 MB/s, 128 requests under way, 2.1 GB in 9,000 requests, 12 sent again   cache …"
std::string StoreLine(const v1::StoreStatus& stores);

}  // namespace penstock::ctl
