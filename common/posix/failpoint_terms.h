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
  std::optional<uint64_t> left = {};  // how many more times it applies; unset: always
};

class FailpointTerms {
 public:
  // **Errors**: InvalidArgument quotes the invalid term and lists the valid ones.
  static absl::StatusOr<FailpointTerms> Parse(absl::string_view text);

  // Returns what this failpoint does now, and counts the call.
  FailpointTerm Next(absl::string_view name);
  bool empty() const { return terms_.empty(); }

 private:
  std::map<std::string, std::vector<FailpointTerm>, std::less<>> terms_;
};

absl::string_view FailpointActionName(FailpointAction action);

}  // namespace penstock::posix
