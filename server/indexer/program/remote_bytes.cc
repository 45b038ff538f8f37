#include "server/indexer/program/remote_bytes.h"

#include <algorithm>
#include <cstring>

namespace penstock::indexer {

absl::Status RemoteBytes::Read(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const auto now = into.first(std::min(into.size(), kMostBytesSent));
    PENSTOCK_RETURN_IF_ERROR(ReadSome(offset, now));
    offset += now.size();
    into = into.subspan(now.size());
  }
  return absl::OkStatus();
}

absl::Status RemoteBytes::ReadSome(uint64_t offset, std::span<std::byte> into) const {
  PENSTOCK_RETURN_IF_ERROR(line_.Say(
      {.what = Tells::kWants, .number = number_, .count = into.size(), .offset = offset}));
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Message message, line_.Next());
  Ask ask;
  if (message.bytes.size() != sizeof ask + into.size())
    return absl::InternalError("other bytes than were asked for");
  std::memcpy(&ask, message.bytes.data(), sizeof ask);
  if (ask.task != Task::kBytes || ask.number != number_)
    return absl::InternalError("another question instead of bytes");
  std::memcpy(into.data(), message.bytes.data() + sizeof ask, into.size());
  return absl::OkStatus();
}

}  // namespace penstock::indexer
