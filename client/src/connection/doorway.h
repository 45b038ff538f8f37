// The client's side of the doorway: says hello, holds the ticket, receives descriptors.
//
// One for each connection, shared by its sessions; any thread. What comes for one session is kept
// until that session asks, whoever reads it. After an error it stays in error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"

namespace penstock::client {

class Doorway {
 public:
  // Goes through "<address>.door" as `client` ("program/version"). Unavailable: no daemon there;
  // FailedPrecondition: it speaks another protocol; otherwise the daemon's own words of refusal.
  static absl::StatusOr<std::unique_ptr<Doorway>> Enter(const std::string& address,
                                                        const std::string& client,
                                                        base::Duration timeout);

  const std::string& ticket() const { return ticket_; }  // 32 hex digits

  // Takes in all that has come. Never waits. Unavailable when the daemon is gone.
  absl::Status Pump();

  struct SessionDescriptors {
    posix::Fd control;
    posix::Fd event;
  };
  // Waits for a session's descriptors.
  absl::StatusOr<SessionDescriptors> AwaitSession(uint64_t session_id, base::TimePoint deadline);

  // Null: none of that id came yet, or the daemon gave it up.
  std::shared_ptr<const posix::Mapping> Segment(uint32_t id);

  // Waits for the descriptor of a slab of device memory, and gives it away.
  absl::StatusOr<posix::Fd> AwaitSlab(uint32_t id, base::TimePoint deadline);

 private:
  explicit Doorway(posix::Fd socket) : socket_(std::move(socket)) {}
  absl::Status Greet(const std::string& client, base::Duration timeout);
  absl::Status Understand(posix::Message message) PENSTOCK_REQUIRES(mutex_);
  absl::Status KeepSession(posix::Message message) PENSTOCK_REQUIRES(mutex_);
  absl::Status KeepSegment(posix::Message message) PENSTOCK_REQUIRES(mutex_);
  absl::Status ForgetSegment(const posix::Message& message) PENSTOCK_REQUIRES(mutex_);
  absl::Status KeepSlab(posix::Message message) PENSTOCK_REQUIRES(mutex_);
  template <typename Key, typename Value>
  absl::StatusOr<Value> Await(std::map<Key, Value> Doorway::*kept, Key key,
                              base::TimePoint deadline, absl::string_view what);

  const posix::Fd socket_;
  std::string ticket_;
  base::Mutex mutex_;
  absl::Status broken_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uint64_t, SessionDescriptors> sessions_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uint32_t, posix::Fd> slabs_ PENSTOCK_GUARDED_BY(mutex_);
  // Shared with the attachments that use them.
  std::map<uint32_t, std::shared_ptr<const posix::Mapping>> segments_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
