// What failpoints do, parsed from the environment variable PENSTOCK_FAILPOINTS (failpoint.h). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::posix {

enum class FailpointAction { kOff, kKill, kExit, kError, kDelay, kPause };

struct FailpointTerm {
  FailpointAction action = FailpointAction::kOff;
  int argument = 0;
  std::optional<uint64_t> count = {};  // how many times it applies; unset: always
};

// The failpoints that the text names, in alphabetical order.
class FailpointTerms {
 public:
  // **Errors**: InvalidArgument quotes the invalid term and lists the valid ones.
  static absl::StatusOr<FailpointTerms> Parse(absl::string_view text);

  // The failpoint's place in the order; unset if the text does not name it.
  std::optional<size_t> Find(absl::string_view name) const;
  // What a failpoint does when it has been reached `before` times. **Requires**: place < size().
  FailpointTerm Choose(size_t place, uint64_t before) const;
  const std::string& name(size_t place) const { return names_.at(place); }
  size_t size() const { return names_.size(); }

 private:
  std::map<std::string, std::vector<FailpointTerm>, std::less<>> terms_;
  std::vector<std::string> names_;
};

}  // namespace penstock::posix
