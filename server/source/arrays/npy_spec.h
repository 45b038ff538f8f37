// The specification of a dataset of NumPy arrays, from the configuration or a text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

struct NpyArray {
  std::string name;  // of the tensor; empty (only for a single array): chosen by content
  std::string file;  // absolute
  bool operator==(const NpyArray&) const = default;
};

struct NpySpec {
  std::vector<NpyArray> arrays;
  bool operator==(const NpySpec&) const = default;
};

// The array with this name holds the labels, one integer per sample.
inline constexpr char kNpyLabel[] = "label";
inline constexpr size_t kLongestNpyName = 64;

// **Errors**: InvalidArgument for no arrays or too many, and for invalid or duplicate names.
absl::Status Validate(const NpySpec& spec);

// Text form: "npy:image=/data/x.npy,label=/data/y.npy". A path that contains a comma works only in
// the configuration.
bool IsNpyText(absl::string_view text);
absl::StatusOr<NpySpec> ParseNpyText(absl::string_view text);
std::string ToString(const NpySpec& spec);

}  // namespace penstock::source
