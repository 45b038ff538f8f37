// Tells from a field's name whether its values are positions in the image. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock::source {

// True if the name contains a word such as mask, seg, bbox, boxes, keypoints, depth or flow: in any
// case, delimited by anything but letters ("image/object/bbox/xmin", "seg.npy").
bool NamesPlaces(absl::string_view field);

}  // namespace penstock::source
