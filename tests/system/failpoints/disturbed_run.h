// A daemon under two trainers while something happens at its failpoints, and what the trainers got.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
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

// All failpoints of the daemon and of the programs that it starts, as they list them. Those in
// workers and indexers, which end only these, have names that begin with kOfWorkers or kOfIndexers.
std::vector<std::string> AllFailpoints();
inline constexpr absl::string_view kOfWorkers = "worker_program.", kOfIndexers = "indexer_program.";

// Where trainers take their batches. On a GPU they are the program penstock-gpu-trainee; of a
// Python dataset, in a private daemon, penstock-test-python-trainee.
enum class Where { kOnHost, kOnGpu, kInPython };

class Node;

// Both trainers' datasets: photographs with a damaged one among them, as class folders and as a
// shard. As root, the daemon and each trainer are users of their own.
class DisturbedRuns {
 public:
  explicit DisturbedRuns(Where where);

  struct Got {
    Delivered by_state, in_order;
    Delivered in_streams;              // of a third trainer of a Python dataset
    std::vector<std::string> errors;   // that trainers of a Python dataset got
    bool ended = false;                // all trainers came to their ends
    std::map<std::string, int> acted;  // how often each failpoint did
    std::string left;                  // what the daemon left behind
    std::string log;                   // the daemon's
  };
  // In the first epoch all workers are killed, the configuration is loaded again, a quarantine is
  // cleared, a visitor makes the pool free segments, and then the daemon is asked to drain and end.
  // Trainers of a Python dataset see to what happens there by themselves.
  Got Run(const Disturbance& disturbance);

 private:
  DaemonProcess::Options Options() const;
  void PrepareState();
  void WatchUntilTheirEnds(Node& node, Got& got);
  void WatchInPython(Node& node, Got& got);
  void SeeToLeftovers(Node& node, Got& got);
  // Processes, and files of writers that are gone. Waits a moment for what is just ending.
  std::string Leftovers(const std::string& directory) const;
  std::string FilesLeftIn(const std::string& directory) const;

  const Where where_;
  const std::string trainee_;  // program
  TempFolder folder_;
};

}  // namespace penstock::testing
