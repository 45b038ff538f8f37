// A worker without a process or threads: a queue whose reader takes time, and a decoder that takes
// time and writes each row in two steps. Both can end, hang or fail at any moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/posix/process.h"
#include "server/workers/given_items.h"
#include "server/workers/work.h"
#include "server/workers/worker_life.h"
#include "tests/simulation/events.h"

namespace penstock::simulation {

struct SimulatedItem {
  workers::WorkItem work;
  TimePoint read_begin{}, read_end{};
  bool reading = false, overdue = false;
};

// The program that decodes.
struct SimulatedProgram {
  uint64_t incarnation = 0;
  bool ready = false, hangs = false, killed = false;
  std::optional<posix::Exit> exit = {};  // it is gone, and waits to be reaped
  workers::WorkerLife life = {};
  TimePoint busy_since{};
};

struct SimulatedWorker {
  uint64_t id = 0;
  uint32_t user = 0, number = 0;
  std::deque<SimulatedItem> inbox = {};  // to be read, in order; the first may be being read
  std::map<uint64_t, SimulatedItem> loose = {};  // being read by detached threads, by item
  std::deque<SimulatedItem> ring = {};  // read; the first is being decoded if the program works
  bool decoding = false;                // the first of `ring` has been started
  TimePoint oldest_since{};
  std::vector<workers::Outcome> ended = {};  // not yet collected
  std::vector<uint64_t> overdue = {};        // not yet reported
  std::optional<SimulatedProgram> program = {};
  workers::GivenItems given = {};
  TimePoint free_since{};

  // As UserWorker says.
  size_t outstanding() const { return held() - loose.size(); }
  size_t held() const { return inbox.size() + loose.size() + ring.size() + ended.size(); }
  bool IsFree() const { return ended_alone() && inbox.empty() && ring.empty(); }
  bool IsEmpty() const { return held() == 0; }
  bool is_ready() const { return program && program->ready; }
  bool works() const { return is_ready() && !program->exit && !program->hangs; }

 private:
  bool ended_alone() const { return ended.empty(); }
};

}  // namespace penstock::simulation
