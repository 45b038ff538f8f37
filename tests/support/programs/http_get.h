// Raw HTTP over TCP to a local port, so that tests can also send what no real client would send.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/posix/fd.h"

namespace penstock::testing {

// A port that was free a moment ago.
uint16_t FreePort();

// Connects to 127.0.0.1. Returns an invalid descriptor if that doesn't succeed in time.
posix::Fd ConnectTo(uint16_t port, std::chrono::milliseconds within);

// Sends the bytes and receives until the peer closes; "" if nothing comes in time.
std::string Exchange(uint16_t port, const std::string& bytes,
                     std::chrono::milliseconds within = std::chrono::seconds(10));

// The body of /metrics; "" if it doesn't come in time.
std::string Scrape(uint16_t port, std::chrono::milliseconds within = std::chrono::seconds(10));

// The value of a series, given as `name{labels}`, in a page; NaN if absent.
double ValueOf(const std::string& page, const std::string& series);

}  // namespace penstock::testing
