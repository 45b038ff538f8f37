// Which fields beside an image name places in it. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock::source {

// Whether a field's name says so: it has, in any case and between whatever is no letter, a word
// such as mask, seg, bbox, boxes, keypoints, depth or flow ("image/object/bbox/xmin", "seg.npy").
bool NamesPlaces(absl::string_view field);

}  // namespace penstock::source
