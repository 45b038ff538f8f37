// Why a connection was cut off, in the daemon's own terms: for the log and for metrics. Travels
// with the status as a payload.
#pragma once

#include <array>
#include <cstddef>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::rpc {

// In the order of these names, which metrics show: it speaks something else; its headers are too
// large or broken; it has too many calls at once; it sends messages in too many pieces; it does not
// read what it is sent.
enum class CutOff { kNotHttp2, kHeaders, kCalls, kPieces, kUnread };
inline constexpr std::array<absl::string_view, 5> kCutOffs = {"not_http2", "headers", "calls",
                                                              "pieces", "unread"};

inline constexpr char kCutOffUrl[] = "penstock/cut-off";

inline absl::Status CutOffFor(CutOff reason, absl::Status why) {
  why.SetPayload(kCutOffUrl, absl::Cord(kCutOffs[static_cast<size_t>(reason)]));
  return why;
}

// Its place among the names; kCutOffs.size(): it was not cut off.
inline size_t PlaceOfCutOff(const absl::Status& why) {
  const absl::optional<absl::Cord> reason = why.GetPayload(kCutOffUrl);
  for (size_t i = 0; reason && i < kCutOffs.size(); ++i)
    if (*reason == kCutOffs[i]) return i;
  return kCutOffs.size();
}

}  // namespace penstock::rpc
