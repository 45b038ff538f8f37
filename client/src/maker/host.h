// A host's side of its page (common/shm/python_host.h): which workers the daemon wants forked or
// killed, and what became of them. The process that uses it was forked by a trainer, and only forks
// workers.
//
//   Enter → CloseInherited → Next ──► for each place: MakeWords, fork
//                             ▲         parent: NoteForked      child: LeaveInWorker, a MakerWorker
//                             └─────────┘
//
// The caller forks, because an interpreter has work to do around a fork. Everything else happens
// here: Next kills and reaps.
//
// **Ownership**: it owns its connection, the mapped page, and the worker processes, which only it
// may reap. Its destructor kills them all, unless this process is a forked child.
//
// **Thread safety**: one thread, that of the process that called Enter. No locks, no logging, no
// gRPC: what the parent's other threads held at the fork does not matter.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/src/maker/children.h"
#include "client/src/maker/entrance.h"
#include "client/src/maker/worker.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/shm/python_host.h"

namespace penstock::client {

// How long a host waits for killed workers before it ends.
inline constexpr base::Duration kReapPatience = std::chrono::seconds(1);

struct HostOptions {
  std::string address = {};  // of the daemon
  HostToken token = {};
  std::string client = {};  // "program/version", for status
  // The host ends when the trainer's process ends, or when the trainer closes its end of the life
  // socket, or shuts it down: shutdown(2) works even while other processes have inherited that end.
  posix::Fd trainer = {};  // a pidfd
  posix::Fd life = {};
  base::Duration timeout = std::chrono::seconds(10);  // for entering
};

class MakerHost {
 public:
  // Enters the doorway at "<address>.door".
  //
  // **Errors**: as EnterAsMaker; InvalidArgument if `trainer` is no pidfd or `life` is not open;
  // FailedPrecondition if the page has another version.
  static absl::StatusOr<std::unique_ptr<MakerHost>> Enter(HostOptions options);
  MakerHost(const MakerHost&) = delete;
  MakerHost& operator=(const MakerHost&) = delete;
  ~MakerHost();

  // Closes the connections to the daemon that this process inherited from the trainer
  // (CloseInheritedSockets).
  absl::Status CloseInherited() const { return CloseInheritedSockets(entrance_.socket); }

  // Waits until the daemon wants workers, and returns which starts of which places; none if the
  // deadline passes. A start is returned until NoteForked is called for it. Meanwhile kills workers
  // that the daemon wants killed, and reaps those that have ended.
  //
  // **Errors**: Cancelled: the trainer has ended, or closed the life socket. Unavailable: the
  // daemon closed the connection. Internal: it sent something impossible. After each of them the
  // host must end: later calls return the same error.
  absl::StatusOr<std::vector<PlaceStart>> Next(base::TimePoint deadline);

  // The number of a descriptor to which the next worker at this place may write its last words
  // (faulthandler). The host owns it.
  //
  // **Errors**: from memfd_create(2). InvalidArgument if there is no such place.
  absl::StatusOr<int> MakeWords(uint32_t place);

  // In the host, after a fork: notes the process, and tells the daemon. Puts it in a process group
  // of its own.
  //
  // **Errors**: InvalidArgument unless Next returned this start; from pidfd_open(2), and then the
  // process is killed. **Requires**: `pid` is a child of this process.
  absl::Status NoteForked(PlaceStart at, pid_t pid);

  // Tells the daemon that the host cannot go on, for example because fork(2) failed. The host must
  // end then. Cuts off what does not fit the page.
  void Fail(const std::string& why);

  // Asks the workers to end, by a signal for which they have a handler, and waits for them until
  // the deadline. The destructor kills those that are left.
  void AskToEnd(int signal, base::TimePoint deadline) { children_.AskAll(signal, deadline); }

  // In a worker forked for this place: closes and unmaps everything of the host except the worker's
  // own words, so that the daemon and the trainer see when the host ends, and puts the worker in a
  // process group of its own. The object is of no use then.
  void LeaveInWorker(uint32_t place);

  size_t workers() const { return children_.size(); }  // not yet reaped

 private:
  MakerHost(HostOptions options, Entrance entrance);
  shm::PythonHostPage& page() const {
    return *reinterpret_cast<shm::PythonHostPage*>(entrance_.memory.data());
  }
  void KillUnwanted();
  void ReapEnded();
  std::vector<PlaceStart> Wanted() const;
  absl::Status Wait(base::TimePoint deadline);
  absl::Status CheckTrainer() const;
  absl::Status CheckDoorway() const;

  const pid_t owner_;  // the process that entered
  HostOptions options_;
  Entrance entrance_;
  MakerChildren children_;
  std::array<uint32_t, shm::kMaxPythonWorkers> starts_ = {};  // as in the page, never read back
  absl::Status ended_;
};

}  // namespace penstock::client
