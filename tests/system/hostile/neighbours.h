// A daemon with its own user, a hostile user, and a neighbour that must not be affected.
#pragma once

#include <memory>
#include <string>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {

inline constexpr uid_t kDaemonUid = 54320, kHostileUid = 54321, kNeighbourUid = 54323;
inline constexpr gid_t kSharedGroup = 54322;

inline const Identity kHostile = {.user = kHostileUid, .groups = {kSharedGroup}};
inline const Identity kNeighbour = {.user = kNeighbourUid, .groups = {kSharedGroup}};

// The daemon's configuration. `server` extends that section, and `sections` adds others.
struct NeighbourhoodOptions {
  int workers = 2;
  int photographs = 64;
  std::string server = {}, sections = {};
};
std::unique_ptr<DaemonProcess> DaemonOfNeighbours(const NeighbourhoodOptions& options);

// Returns PENSTOCK_TEST_SEED, or a seed from the clock, and prints it.
uint64_t ChosenSeed();
// Returns PENSTOCK_TEST_SECONDS, or `usual` if it is not set.
double ChosenSeconds(double usual);

// Runs a program as another user and restarts it whenever it ends, until the object is destroyed.
class Persistent {
 public:
  Persistent(const std::string& program, const std::vector<std::string>& arguments,
             const Identity& as, const std::string& log = "/dev/null");
  ~Persistent();
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;

 private:
  pid_t group_ = -1;
};

// The resources of a daemon, without its workers.
struct Holdings {
  uint64_t private_bytes = 0;
  size_t descriptors = 0, threads = 0, children = 0;
  std::string ToString() const;
};
Holdings HoldingsOf(pid_t pid);

// Measures the resources repeatedly on its own thread and keeps the maximum of each.
class PeakOf {
 public:
  explicit PeakOf(pid_t pid);
  ~PeakOf();
  Holdings peak() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::testing
