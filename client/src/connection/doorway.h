// The client's side of the doorway: enters it, holds the ticket, receives descriptors.
//
// There is one for each connection, shared by its sessions. A thread that reads a message for
// another session keeps it here until that session asks for it. After the first error every call
// returns that error.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "client/src/session/private_views.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"

namespace penstock::client {

class Doorway {
 public:
  // Connects to "<address>.door" and introduces us as `client` ("program/version").
  //
  // **Errors**: Unavailable: no daemon there. FailedPrecondition: it speaks another protocol.
  // Otherwise the daemon's own reason for refusing us.
  static absl::StatusOr<std::unique_ptr<Doorway>> Enter(const std::string& address,
                                                        const std::string& client,
                                                        base::Duration timeout);

  const std::string& ticket() const { return ticket_; }  // 32 hex digits

  // Reads all messages that have arrived. Never waits. Unavailable if the daemon is gone.
  absl::Status Pump();

  struct SessionDescriptors {
    posix::Fd control;
    posix::Fd event;
  };
  // Waits for a session's descriptors and hands them to the caller.
  absl::StatusOr<SessionDescriptors> AwaitSession(uint64_t session_id, base::TimePoint deadline);

  // Null if no segment with this id has arrived yet, or the daemon has withdrawn it.
  std::shared_ptr<const posix::Mapping> Segment(uint32_t id);
  // Private mappings of made batches in it. Null likewise.
  std::shared_ptr<PrivateViews> Views(uint32_t id);

  // Waits for the descriptor of a slab of device memory and hands it to the caller.
  absl::StatusOr<posix::Fd> AwaitSlab(uint32_t id, base::TimePoint deadline);

 private:
  explicit Doorway(posix::Fd socket) : socket_(std::move(socket)) {}
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
  struct KeptSegment {
    std::shared_ptr<const posix::Mapping> mapping;
    std::shared_ptr<PrivateViews> views;
  };
  std::map<uint32_t, KeptSegment> segments_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
