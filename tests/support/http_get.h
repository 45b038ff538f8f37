// Raw HTTP over TCP to a port of this machine, so that tests can also say what no client would.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/posix/fd.h"

namespace penstock::testing {

// A port that nobody listens on now.
uint16_t FreePort();

// Connects to 127.0.0.1; an invalid descriptor where that does not succeed in time.
posix::Fd ConnectTo(uint16_t port, std::chrono::milliseconds within);

// Sends the bytes and takes what comes until the peer closes; "" where nothing came in time.
std::string Exchange(uint16_t port, const std::string& bytes,
                     std::chrono::milliseconds within = std::chrono::seconds(10));

// The body of /metrics; "" where it did not come in time.
std::string Scrape(uint16_t port, std::chrono::milliseconds within = std::chrono::seconds(10));

// The value of a series as it stands in a page, `name{labels}` and all; NaN: it is not there.
double ValueOf(const std::string& page, const std::string& series);

}  // namespace penstock::testing
