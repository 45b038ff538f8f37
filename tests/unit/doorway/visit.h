// Helpers for doorway tests: a directory that removes itself, a visitor that records its calls, and
// the client's side of the conversation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// **Thread safety**: any thread.
class GuestBook final : public Visitor {
 public:
  // Makers may enter unless `Refuse` was called.
  absl::Status MayEnter(const Peer& peer) override;
  void OnArrived(const Peer& peer) override;
  void OnDisconnected(PeerId peer) override { Write("disconnected", peer); }
  void OnGone(PeerId peer) override { Write("gone", peer); }

  void Refuse(absl::Status why);  // from now on, every maker
  size_t asked() const;           // calls of MayEnter
  std::vector<Peer> arrived() const;
  std::vector<std::string> events() const;  // "arrived 1", "disconnected 1", "gone 1"

  // Returns whether this many events were recorded within five seconds.
  bool WaitForEvents(size_t count) const;

 private:
  void Write(const std::string& what, PeerId peer);
  mutable base::Mutex mutex_;
  mutable base::CondVar changed_;
  absl::Status makers_ PENSTOCK_GUARDED_BY(mutex_);
  size_t asked_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::vector<Peer> arrived_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<std::string> events_ PENSTOCK_GUARDED_BY(mutex_);
};

// A client's handshake in this protocol version, with the name "test 1.0".
shm::DoorwayHandshake GoodHandshake();

// A host's and its Python worker's handshakes, with the token "abc…p", place 3 and start 1.
shm::DoorwayHost HostHandshake();
shm::DoorwayWorker WorkerHandshake();

// Connects and sends these bytes with a pidfd of this process.
posix::Fd Enter(const std::string& path);
absl::Status Say(const posix::Fd& socket, const void* bytes, size_t size);
posix::Fd EnterAndSendHandshake(const std::string& path);
template <typename Wire>
posix::Fd EnterWith(const std::string& path, const Wire& handshake) {
  posix::Fd socket = Enter(path);
  PENSTOCK_CHECK(Say(socket, &handshake, sizeof(handshake)).ok());
  return socket;
}

// Returns the next message as a Refused or a Welcome; an error for any other message, or after five
// seconds.
absl::StatusOr<shm::DoorwayRefused> ReadRefused(const posix::Fd& socket);
absl::StatusOr<shm::DoorwayWelcome> ReadWelcome(const posix::Fd& socket);

// Returns whether the daemon closes the connection within five seconds.
bool IsClosedByDaemon(const posix::Fd& socket);

// Runs `body` in a child process, which exits with its result.
pid_t Fork(const std::function<int()>& body);
int WaitForExit(pid_t child);

}  // namespace penstock::doorway
