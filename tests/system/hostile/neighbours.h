// A daemon with a user of its own, a hostile user and a neighbour that is to notice nothing.
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

// The daemon's configuration, with more of each section.
struct NeighbourhoodOptions {
  int workers = 2;
  int photographs = 64;
  std::string server = {}, sections = {};
};
std::unique_ptr<DaemonProcess> DaemonOfNeighbours(const NeighbourhoodOptions& options);

// The seed of a test's random choices: PENSTOCK_TEST_SEED, or the time. Printed.
uint64_t ChosenSeed();
// PENSTOCK_TEST_SECONDS, or that many.
double ChosenSeconds(double usual);

// A program of another user that is started again whenever it ends, until this object's end.
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

// What a daemon has, without its workers.
struct Holdings {
  uint64_t private_bytes = 0;
  size_t descriptors = 0, threads = 0, children = 0;
  std::string ToString() const;
};
Holdings HoldingsOf(pid_t pid);

// Measures again and again on a thread of its own, and keeps the greatest of each.
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
