#include "server/source/core/byte_ranges.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kWords[] = {
    "mask",      "masks",     "seg",     "segm",     "segmentation", "segmentations",
    "box",       "boxes",     "bbox",    "bboxes",   "polygon",      "polygons",
    "keypoint",  "keypoints", "kpts",    "landmark", "landmarks",    "depth",
    "disparity", "flow",      "normals", "heatmap"};

bool IsWord(absl::string_view word) {
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

}  // namespace

bool NamesPlaces(absl::string_view field) {
  std::string word;
  for (const char letter : field) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(letter))) {
      word.push_back(absl::ascii_tolower(static_cast<unsigned char>(letter)));
      continue;
    }
    if (IsWord(word)) return true;
    word.clear();
  }
  return IsWord(word);
}

}  // namespace penstock::source
