// The dataset: one file per image, and for each image the values of its objects, or a mask in a
// file of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/target.h"
#include "server/source/annotated/annotations.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/lists/image_list.h"

namespace penstock::source {

// The objects of all samples.
struct ObjectTable {
  std::vector<uint64_t> ends = {};  // of each sample's objects; empty: there are no objects
  std::vector<ObjectColumn> columns = {};
  uint32_t points = 0;
  base::TargetSpec boxes = {}, keypoints = {};  // what these are
};

struct MaskFiles {
  Tree tree;
  ImageList list;  // a file for each sample
};

struct AnnotatedParts {
  absl::string_view kind;  // Dataset::kind
  Tree tree;
  ImageList images;  // with columns of integers; without labels
  ObjectTable objects = {};
  std::optional<MaskFiles> masks = {};
  std::vector<std::string> classes = {};
};

// **Requires**: there is at least one image, and all parts have as many.
std::unique_ptr<Dataset> MakeAnnotatedImages(AnnotatedParts parts);

// The value of what lies outside of the image, in masks.
inline constexpr uint32_t kMaskFill = 255;

}  // namespace penstock::source
