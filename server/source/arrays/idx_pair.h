// Finds pairs of IDX files by MNIST's naming scheme, for paths that are given without a
// configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/arrays/idx.h"

namespace penstock::source {

// Whether the name looks like an images file: contains "images" and "idx3" or "idx4", as in
// train-images-idx3-ubyte.gz.
bool IsIdxImagesName(absl::string_view name);

// Possible names of the labels file for this images file, the likeliest first: "images" becomes
// "labels", idx3 or idx4 becomes idx1, with or without .gz. Empty if the name doesn't contain
// "images".
std::vector<std::string> IdxLabelsNames(absl::string_view images);

// Finds the pair for a path: an images file, or a folder that holds one pair and no sub-folder.
// Nullopt for a folder without IDX images, which may be another kind of dataset.
// **Errors**: InvalidArgument and NotFound say what was looked for and what was found.
absl::StatusOr<std::optional<IdxFiles>> FindIdxPair(const std::string& path);

}  // namespace penstock::source
