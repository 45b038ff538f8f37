// Why a connection was cut off, for the log and for metrics. Travels as a payload of the status.
#pragma once

#include <array>
#include <cstddef>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::rpc {

// In the order of these names, which metrics show: it doesn't speak HTTP/2; its headers are too
// large or invalid; it has too many concurrent calls; it sends messages in too many pieces; it
// doesn't read; it passes a descriptor.
enum class CutOff { kNotHttp2, kHeaders, kCalls, kPieces, kUnread, kDescriptors };
inline constexpr std::array<absl::string_view, 6> kCutOffs = {
    "not_http2", "headers", "calls", "pieces", "unread", "descriptors"};

inline constexpr char kCutOffUrl[] = "penstock/cut-off";

inline absl::Status CutOffFor(CutOff reason, absl::Status why) {
  why.SetPayload(kCutOffUrl, absl::Cord(kCutOffs[static_cast<size_t>(reason)]));
  return why;
}

// The index of the reason among the names; kCutOffs.size() if it was not cut off.
inline size_t PlaceOfCutOff(const absl::Status& why) {
  const absl::optional<absl::Cord> reason = why.GetPayload(kCutOffUrl);
  for (size_t i = 0; reason && i < kCutOffs.size(); ++i)
    if (*reason == kCutOffs[i]) return i;
  return kCutOffs.size();
}

}  // namespace penstock::rpc
