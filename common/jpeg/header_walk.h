// Walks through the markers before a JPEG file's scan, for files that nvJPEG is to read in the
// trainer's process. The worker that reads a file and the client that decodes it use the same walk.
// Pure.
//
// Source: ITU-T T.81, annex B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/jpeg/engines.h"

namespace penstock::jpeg {

struct HeaderWalk {
  JpegHeaderFacts facts;
  uint32_t restart_interval = 0;  // in MCUs; 0: no restarts
  size_t bytes = 0;               // to the first byte of the scan
};

// Returns what the file is if its header has nothing unusual: each segment has the length that its
// content says, all tables are defined once before their use and are possible, there is one frame,
// and the first scan has all of its components. Nullopt otherwise. The scan is not looked at.
std::optional<HeaderWalk> WalkHeader(std::span<const std::byte> file);

}  // namespace penstock::jpeg
