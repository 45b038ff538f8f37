// The processes that a host forked: kills, reaps and remembers them, and reads their last words.
// Never forks. Not thread-safe.
//
// A worker and what it starts share a process group, which is killed as a whole when the worker has
// ended or must end.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::client {

inline constexpr int kUnknownExit = -1;  // somebody else has reaped the process

class MakerChildren {
 public:
  // A child that was reaped.
  struct Ended {
    uint32_t place = 0, start = 0;
    int exit_status = 0;  // as waitpid(2) reports it, or kUnknownExit
    std::string words;    // the beginning of what it wrote to its words; any bytes
  };

  // The number of a descriptor to which the next child at this place may write its last words. It
  // stays open until the child is reaped; a child that inherits it need not close it.
  absl::StatusOr<int> MakeWords(uint32_t place);

  // Notes a child, which this process has just forked. **Requires**: none is at this place.
  // **Errors**: from pidfd_open(2); the child is then killed and reaped.
  absl::Status Add(uint32_t place, uint32_t start, pid_t pid);

  bool IsAt(uint32_t place) const { return children_.contains(place); }
  // Which start of the place its child is; 0 if there is none.
  uint32_t StartAt(uint32_t place) const;
  size_t size() const { return children_.size(); }

  // Kills the child at this place with SIGKILL, once. Reap then finds it.
  void Kill(uint32_t place);

  // Reaps the children that have ended, with at most `most_words` bytes of words. Never waits.
  std::vector<Ended> Reap(size_t most_words);

  // Appends an entry for each child, readable once that has ended.
  void AppendTo(std::vector<pollfd>& entries) const;

  // Sends all children a signal, which asks them to end, and reaps those that do so until the
  // deadline.
  void AskAll(int signal, base::TimePoint deadline);

  // Kills all children and waits until they are reaped, at most until the deadline: a process whose
  // storage does not answer cannot be killed until it does.
  void KillAll(base::TimePoint deadline);

  // In a child forked for this place: forgets the processes, which are its parent's, and closes all
  // descriptors except that of its own words, which stays open until it ends.
  void Forget(uint32_t place);

 private:
  void ReapUntil(base::TimePoint deadline);

  struct Child {
    uint32_t start = 0;
    pid_t pid = 0;
    posix::Fd pidfd;
    bool killed = false;
  };
  std::map<uint32_t, Child> children_;   // by place
  std::map<uint32_t, posix::Fd> words_;  // likewise
};

}  // namespace penstock::client
