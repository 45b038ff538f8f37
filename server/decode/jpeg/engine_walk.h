// Walks through all of a JPEG file's markers, for files that somebody else's decoder is to read:
// nvJPEG, in the trainer's process. It lets nothing odd through. Pure.
//
// Source: ITU-T T.81, annex B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/jpeg/engines.h"

namespace penstock::decode {

struct EngineWalk {
  jpeg::JpegHeaderFacts facts;
  uint64_t bytes = 0;  // from the file's first marker to its end marker, included
};

// Returns what the file is if it is one complete scan without anything unusual: each segment has
// the length that its content says, all tables are defined once before their use and are possible,
// the only markers in the scan are restart markers in their order, where the file announces them,
// and the end marker follows. Nullopt otherwise. Bytes behind the end marker are not looked at.
std::optional<EngineWalk> WalkForEngines(std::span<const std::byte> file);

}  // namespace penstock::decode
