// Names that people know, for the numbers of the daemon's answers.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

// As this machine's users are called; the number where it has no such user, as in a container.
std::string UserName(uint32_t user_id);

// "0123456789abcdef"
std::string Hexadecimal(uint64_t fingerprint);

// Which feed a verdict is about: "imagenet of alice". With its fingerprint if there are several of
// this dataset and user: "imagenet of alice, feed 0123456789abcdef".
std::string FeedName(const v1::FeedStatus& feed, const v1::GetStatusResponse& status);

// Who waits for whom, for each feed in use, a line of at most `columns` (0: no limit) and those
// that continue it.
std::string VerdictLines(const v1::GetStatusResponse& status, size_t columns);

}  // namespace penstock::ctl
