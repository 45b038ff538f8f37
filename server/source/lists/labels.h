// Labels that are given as texts, such as the cells of a column: integers stay what they are, other
// texts become numbers of classes. Pure.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

enum class LabelsAs {
  kAuto,     // as the first label: all must be integers, or none may be a number
  kNumbers,  // integers
  kTexts,    // names of classes, whatever they look like
};

inline constexpr size_t kMostListedClasses = 65'536;

struct Labels {
  std::vector<int64_t> values = {};  // one per sample
  // Texts: the distinct ones, in Python's order; a label is an index into them. Integers: "0" to
  // the largest label, unless one is negative or is kMostListedClasses or more; then none.
  std::vector<std::string> classes = {};
};

class LabelCollector {
 public:
  explicit LabelCollector(LabelsAs as) : as_(as) {}

  // Adds the next sample's label. `is_text`: it is a text even if it looks like a number.
  // **Errors**: InvalidArgument, without the place.
  absl::Status Add(absl::string_view text, bool is_text = false);
  // The labels of all samples. The collector is then empty.
  Labels Finish();

 private:
  absl::Status AddNumber(absl::string_view text);
  absl::Status AddText(absl::string_view text);

  LabelsAs as_;
  std::string first_;
  std::vector<int64_t> values_;  // numbers, or numbers of texts
  std::unordered_map<std::string, int64_t> texts_;
};

}  // namespace penstock::source
