// Which two IDX files belong together, by the names that MNIST gave them. For paths that people
// give without a configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/arrays/idx.h"

namespace penstock::source {

// Whether a file of this name is taken for images: "images" and "idx3" or "idx4" are in it, as in
// train-images-idx3-ubyte.gz.
bool IsIdxImagesName(absl::string_view name);

// The names of the labels beside images of this name, the likeliest first: "images" becomes
// "labels", idx3 or idx4 becomes idx1, with .gz or without. Nothing where the name says nothing of
// images.
std::vector<std::string> IdxLabelsNames(absl::string_view images);

// The pair that a path means: the images file itself, or a folder that holds one pair and no
// sub-folder. Nothing: a folder without any IDX images, which is another kind's. InvalidArgument
// and NotFound say what was looked for, and what was found.
absl::StatusOr<std::optional<IdxFiles>> FindIdxPair(const std::string& path);

}  // namespace penstock::source
