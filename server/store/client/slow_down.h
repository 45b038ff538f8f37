// A mark on an error: the store wants fewer requests.
#pragma once

#include "absl/strings/cord.h"
#include "common/base/status.h"

namespace penstock::store {

inline constexpr char kSlowDownMark[] = "penstock.store/slow-down";

inline void MarkSlowDown(absl::Status& status) { status.SetPayload(kSlowDownMark, absl::Cord()); }
inline bool AsksToSlowDown(const absl::Status& status) {
  return status.GetPayload(kSlowDownMark).has_value();
}

}  // namespace penstock::store
