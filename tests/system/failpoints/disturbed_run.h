// A daemon under two trainers while something happens at its failpoints, and what the trainers got.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {

// What happens at which failpoints (common/posix/failpoint.h), in the first so many lives of the
// daemon. Whenever it is gone, it is started again.
struct Disturbance {
  std::string failpoints;
  int lives = 1;
};

// All failpoints, as the program itself lists them.
std::vector<std::string> AllFailpoints();

class Node;

// Both trainers' datasets: photographs with a damaged one among them, as class folders and as a
// shard. As root, the daemon and each trainer are users of their own.
class DisturbedRuns {
 public:
  DisturbedRuns();

  struct Got {
    Delivered by_state, in_order;
    bool ended = false;                // both trainers came to their ends
    std::map<std::string, int> acted;  // how often each failpoint did
    std::string left;                  // what the daemon left behind
  };
  // In the first epoch all workers are killed, the configuration is loaded again, a quarantine is
  // cleared, and then the daemon is asked to drain and end.
  Got Run(const Disturbance& disturbance);

 private:
  DaemonProcess::Options Options() const;
  void PrepareState();
  std::map<std::string, int> Acted() const;
  void SeeToLeftovers(Node& node, Got& got);
  // Processes, and files of writers that are gone. Waits a moment for what is just ending.
  std::string Leftovers(const std::string& directory) const;
  std::string FilesLeftIn(const std::string& directory) const;

  TempFolder folder_;
};

}  // namespace penstock::testing
