// The header of a photograph as most are, which tests change.
#pragma once

#include "common/jpeg/engines.h"

namespace penstock::testing {

inline constexpr jpeg::JpegHeaderFacts kPhotographFacts = {.frame_marker = 0xC0,
                                                           .bits = 8,
                                                           .width = 500,
                                                           .height = 375,
                                                           .components = 3,
                                                           .components_of_first_scan = 3,
                                                           .horizontal = {2, 1, 1},
                                                           .vertical = {2, 1, 1},
                                                           .ycbcr = true};

}  // namespace penstock::testing
