// What a failpoint does, as the environment variable PENSTOCK_FAILPOINTS says (failpoint.h). Pure.
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
  std::optional<uint64_t> left = {};  // how often it still applies; unset: always
};

class FailpointTerms {
 public:
  // **Errors**: InvalidArgument quotes what is wrong and says what is allowed.
  static absl::StatusOr<FailpointTerms> Parse(absl::string_view text);

  // What this failpoint does now; counts it.
  FailpointTerm Next(absl::string_view name);
  bool empty() const { return terms_.empty(); }

 private:
  std::map<std::string, std::vector<FailpointTerm>, std::less<>> terms_;
};

absl::string_view FailpointActionName(FailpointAction action);

}  // namespace penstock::posix
