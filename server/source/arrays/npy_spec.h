// What a dataset of NumPy arrays is made of, as the configuration or a text says it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

struct NpyArray {
  std::string name;  // of the tensor; empty, of one array alone: by what it holds
  std::string file;  // absolute
  bool operator==(const NpyArray&) const = default;
};

struct NpySpec {
  std::vector<NpyArray> arrays;
  bool operator==(const NpySpec&) const = default;
};

// The array of this name, one integer a sample, is the labels.
inline constexpr char kNpyLabel[] = "label";
inline constexpr size_t kLongestNpyName = 64;

// InvalidArgument: no array, too many, or a name that cannot be or is there twice.
absl::Status Validate(const NpySpec& spec);

// "npy:image=/data/x.npy,label=/data/y.npy". A path with a comma can be given in the configuration
// alone.
bool IsNpyText(absl::string_view text);
absl::StatusOr<NpySpec> ParseNpyText(absl::string_view text);
std::string ToString(const NpySpec& spec);

}  // namespace penstock::source
