#include "client/src/connection/doorway.h"

#include <poll.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/src/connection/greet.h"

namespace penstock::client {
namespace {

constexpr base::Duration kSlice = std::chrono::milliseconds(50);
constexpr size_t kMaxWaitingSessions = 1024;  // opened, but not yet claimed
constexpr size_t kMaxWaitingSlabs = 1024;

shm::DoorwayHandshake MakeHandshake(const std::string& client) {
  shm::DoorwayHandshake handshake{};
  handshake.header = MakeHeader(shm::DoorwayKind::kHandshake);
  CopyText(client, handshake.client);
  return handshake;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Doorway>> Doorway::Enter(const std::string& address,
                                                        const std::string& client,
                                                        base::Duration timeout) {
  const shm::DoorwayHandshake handshake = MakeHandshake(client);
  PENSTOCK_ASSIGN_OR_RETURN(Greeted greeted,
                            Greet(address, std::as_bytes(std::span(&handshake, 1)), timeout));
  std::unique_ptr<Doorway> doorway(new Doorway(std::move(greeted.socket)));
  const auto& ticket = greeted.welcome.ticket;
  doorway->ticket_ = absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(ticket), sizeof(ticket)));
  return doorway;
}

absl::Status Doorway::Pump() {
  const base::MutexLock lock(mutex_);
  while (broken_.ok()) {
    absl::StatusOr<posix::Message> message =
        posix::Receive(socket_, shm::kMaxDoorwayBytes, base::Duration::zero());
    if (absl::IsDeadlineExceeded(message.status())) break;
    broken_ = message.ok() ? Understand(*std::move(message)) : message.status();
  }
  return broken_;
}

absl::Status Doorway::Understand(posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(const shm::DoorwayHeader header, ReadHeader(message));
  switch (header.kind) {
    case shm::DoorwayKind::kSession:
      return KeepSession(std::move(message));
    case shm::DoorwayKind::kSegment:
      return KeepSegment(std::move(message));
    case shm::DoorwayKind::kSegmentGone:
      return ForgetSegment(message);
    case shm::DoorwayKind::kSlab:
      return KeepSlab(std::move(message));
    default:
      return absl::InternalError(absl::StrCat("the daemon sent a message of unknown kind ",
                                              static_cast<uint32_t>(header.kind)));
  }
}

absl::Status Doorway::KeepSession(posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto session, As<shm::DoorwaySession>(message, 2));
  if (sessions_.size() >= kMaxWaitingSessions) {
    return absl::InternalError("the daemon sent more sessions than were opened");
  }
  sessions_[session.session_id] = {std::move(message.fds[0]), std::move(message.fds[1])};
  return absl::OkStatus();
}

// Ids are never reused, so a segment that comes twice is the same memory.
absl::Status Doorway::KeepSegment(posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto segment, As<shm::DoorwaySegment>(message, 1));
  if (segments_.contains(segment.segment)) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const size_t bytes, posix::SizeOf(message.fds[0]));
  if (segment.bytes == 0 || segment.bytes > bytes) {
    return absl::InternalError(absl::StrCat("segment ", segment.segment, ": the daemon announced ",
                                            segment.bytes, " bytes, but it has ", bytes));
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      posix::Mapping mapping,
      posix::Mapping::Map(message.fds[0], segment.bytes, posix::Access::kReadOnly));
  mapping.LeaveOutOfDumps();
  segments_[segment.segment] = {
      .mapping = std::make_shared<const posix::Mapping>(std::move(mapping)),
      .views = std::make_shared<PrivateViews>(std::move(message.fds[0]))};
  return absl::OkStatus();
}

// Attachments that use the segment notice that it is gone, and unmap it.
absl::Status Doorway::ForgetSegment(const posix::Message& message) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto segment, As<shm::DoorwaySegment>(message, 0));
  segments_.erase(segment.segment);
  return absl::OkStatus();
}

// Keeps the latest descriptor: all descriptors of a slab lead to the same memory.
absl::Status Doorway::KeepSlab(posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto slab, As<shm::DoorwaySlab>(message, 1));
  if (slabs_.size() >= kMaxWaitingSlabs && !slabs_.contains(slab.slab)) {
    return absl::InternalError("the daemon sent more slabs than all sessions can use");
  }
  slabs_[slab.slab] = std::move(message.fds[0]);
  return absl::OkStatus();
}

// Looks again after each slice, because another thread may have read the message.
template <typename Key, typename Value>
absl::StatusOr<Value> Doorway::Await(std::map<Key, Value> Doorway::*kept, Key key,
                                     base::TimePoint deadline, absl::string_view what) {
  for (;;) {
    const absl::Status pumped = Pump();
    {
      const base::MutexLock lock(mutex_);
      if (auto node = (this->*kept).extract(key)) return std::move(node.mapped());
    }
    PENSTOCK_RETURN_IF_ERROR(pumped);
    const base::Duration left = deadline - base::Now();
    if (left <= base::Duration::zero()) {
      return absl::DeadlineExceededError(absl::StrCat("the daemon announced ", what, " ", key,
                                                      ", but did not send its descriptor in time"));
    }
    pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const auto slice = std::chrono::ceil<std::chrono::milliseconds>(std::min(left, kSlice));
    ::poll(&entry, 1, static_cast<int>(slice.count()));
  }
}

absl::StatusOr<Doorway::SessionDescriptors> Doorway::AwaitSession(uint64_t session_id,
                                                                  base::TimePoint deadline) {
  return Await(&Doorway::sessions_, session_id, deadline, "session");
}

absl::StatusOr<posix::Fd> Doorway::AwaitSlab(uint32_t id, base::TimePoint deadline) {
  return Await(&Doorway::slabs_, id, deadline, "slab");
}

std::shared_ptr<const posix::Mapping> Doorway::Segment(uint32_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = segments_.find(id);
  return found == segments_.end() ? nullptr : found->second.mapping;
}

std::shared_ptr<PrivateViews> Doorway::Views(uint32_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = segments_.find(id);
  return found == segments_.end() ? nullptr : found->second.views;
}

}  // namespace penstock::client
