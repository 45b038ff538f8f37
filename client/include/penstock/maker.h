// The processes that make batches of a Python dataset: a host, which a trainer forks, and the
// Python workers, which the host forks. Only they use this header; a trainer uses Session.
//
//   trainer   Session::HostsWanted → fork ─────────────────► NoteHostForked
//   host      MakerHost::Enter → CloseInherited → Next ──► for each place: MakeWords, fork
//                                                  ▲         then NoteForked
//                                                  └─────────┘
//   worker    LeaveInWorker → EndWithHost → MakerWorker::Enter → Ready
//                 → Next → (SetRow …, AskForRoom …) → Done or Raised
//                    ▲__________________________________________|
//
// The caller forks, because an interpreter has work to do around a fork.
//
// **Thread safety**: each object is used by one thread, that of the process that made it. No locks,
// no logging, no gRPC: what the parent's other threads held at the fork does not matter.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/export.h"
#include "penstock/status.h"

namespace penstock {

namespace client {
class MakerHost;
class MakerWorker;
}  // namespace client

// Where a Python worker runs: its host's place, and which start of that place it is, from 1.
struct PlaceStart {
  uint32_t place = 0, start = 0;
  bool operator==(const PlaceStart&) const = default;
};

struct HostOptions {
  std::string address = {};  // of the daemon
  std::string token = {};    // Session::host_token
  std::string client = {};   // "program/version", for status
  // The host ends when the trainer's process ends, or when the trainer shuts its end of the life
  // socket down: shutdown(2) works even while other processes have inherited that end. Enter owns
  // both descriptors from its call on.
  int trainer = -1;  // a pidfd
  int life = -1;
  std::chrono::milliseconds timeout = std::chrono::seconds(10);  // for entering
};

// Which workers the daemon wants forked or killed, and what became of them. It owns the worker
// processes, which only it may reap. Its destructor kills them all, unless this process is a forked
// child.
class PENSTOCK_EXPORT MakerHost {
 public:
  // Enters the doorway at "<address>.door".
  //
  // **Errors**: kUnavailable: no daemon there. kFailedPrecondition: it speaks another protocol.
  // kInvalidArgument: an option is invalid. kDeadlineExceeded: the daemon does not answer. Others
  // are its reasons for refusing.
  static Result<MakerHost> Enter(HostOptions options);
  MakerHost(MakerHost&&) noexcept;
  MakerHost& operator=(MakerHost&&) noexcept;
  ~MakerHost();

  // Closes the connections to the daemon that this process inherited from the trainer: while they
  // are open, the daemon cannot see that the trainer closed them.
  Status CloseInherited();

  // Waits until the daemon wants workers, and returns which starts of which places; none if the
  // timeout ran out. A start is returned until NoteForked is called for it. Meanwhile kills workers
  // that the daemon wants killed, and reaps those that have ended.
  //
  // **Errors**: the host must end. kCancelled: the trainer has ended, or shut the life socket down.
  // kUnavailable: the daemon closed the connection. kInternal: it sent something impossible.
  Result<std::vector<PlaceStart>> Next(std::chrono::milliseconds timeout);

  // The number of a descriptor to which the next worker at this place may write its last words
  // (faulthandler). The host owns it.
  Result<int> MakeWords(uint32_t place);

  // In the host, after a fork: notes the process, and tells the daemon.
  //
  // **Errors**: kInvalidArgument unless Next returned this start. Others: the process is killed.
  Status NoteForked(PlaceStart at, pid_t pid);

  // Tells the daemon that the host cannot go on. The host must end then.
  void Fail(const std::string& why);

  // Asks the workers to end, by a signal for which they have a handler, and waits for them. The
  // destructor kills those that are left.
  void AskToEnd(int signal, std::chrono::milliseconds timeout);

  // In a worker forked for this place: closes and unmaps everything of the host except the worker's
  // own words, and puts the worker in a process group of its own. The object is of no use then.
  void LeaveInWorker(uint32_t place);

  size_t workers() const;  // not yet reaped

 private:
  explicit MakerHost(std::unique_ptr<client::MakerHost> host);
  std::unique_ptr<client::MakerHost> host_;
};

// Asks the kernel to end this process when the one that forked it ends.
//
// **Errors**: kUnavailable if that has ended already.
PENSTOCK_EXPORT Status EndWithHost(pid_t host);

// One batch to make.
struct BatchToMake {
  uint64_t sequence = 0;          // 1, 2, … of this worker
  std::span<const uint64_t> ids;  // one for each row: which samples
  std::span<std::byte> room;      // to write the batch to; begins at a page
  uint64_t most = 0;              // bytes that the feed allows a batch (max_batch_bytes)
  uint32_t attempt = 0;           // 0, or how often a worker died over this batch
  uint64_t epoch = 0, seed = 0;
  uint64_t key_first = 0, key_step = 0;  // row i draws random numbers by key_first + i * key_step
  uint32_t stream = 0;                   // which part of an iterable dataset
};

// Which batch to make, where to write it, and what became of it. Views that Next and AskForRoom
// return are valid until the batch is answered.
//
// After each error of kUnavailable or kInternal the worker can only exit: further calls return the
// same error.
class PENSTOCK_EXPORT MakerWorker {
 public:
  // Enters the doorway at "<address>.door". `token` is the host's. **Errors**: as MakerHost::Enter.
  static Result<MakerWorker> Enter(const std::string& address, const std::string& token,
                                   PlaceStart at, std::chrono::milliseconds timeout);
  MakerWorker(MakerWorker&&) noexcept;
  MakerWorker& operator=(MakerWorker&&) noexcept;
  ~MakerWorker();

  // Tells the daemon that requests may come.
  void Ready();

  // Waits for the next batch to make, which is then in hand.
  //
  // **Errors**: kDeadlineExceeded: none came, or a signal did; try again. kFailedPrecondition: one
  // is in hand.
  Result<BatchToMake> Next(std::chrono::milliseconds timeout);

  // Tells the daemon which row is in hand, for time-outs and messages. Costs two stores.
  void SetRow(uint32_t row);

  // Returns room for at least `bytes` bytes for the batch in hand, at the same address as before,
  // so what was written stays. Asks the daemon if there is less.
  //
  // **Errors**: kResourceExhausted if the feed or the daemon allows less; the batch stays in hand,
  // so that an error can be written to the room there is. kDeadlineExceeded if the daemon does not
  // answer: the worker must exit.
  Result<std::span<std::byte>> AskForRoom(uint64_t bytes, std::chrono::milliseconds timeout);

  // Answers for the batch in hand: its first `bytes` bytes of room hold the batch.
  //
  // **Errors**: kInvalidArgument for 0 bytes or more than the room; the batch stays in hand.
  // kFailedPrecondition if none is in hand.
  Status Done(uint64_t bytes);

  // Likewise, but they hold an exception instead. `row`: the row that raised it, or the number of
  // rows if it was none of them.
  Status Raised(uint32_t row, uint64_t bytes);

  std::span<std::byte> room() const;  // of the batch in hand; empty if there is none

 private:
  explicit MakerWorker(std::unique_ptr<client::MakerWorker> worker);
  std::unique_ptr<client::MakerWorker> worker_;
};

}  // namespace penstock
