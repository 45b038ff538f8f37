// Threads that copy rows from slots to shelves, and back. Rows in a folder have threads of their
// own, because their storage may be slow, or hang.
//
// **Ownership**: owned by the feed's engine. **Thread safety**: only the runner's thread may call
// it. No call waits for a copy, except the destructor.
//
// Invariants:
// - Each submitted row ends in exactly one outcome, unless the threads are ended first.
// - Once an outcome is collected, no thread uses the row's parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/kept/row_shelf.h"

namespace penstock::kept {

enum class RowMove {
  kTake,  // from the shelf to the slot
  kPut,   // from the slot to the shelf
};

struct RowJob {
  uint64_t id = 0;  // for the caller; not interpreted
  RowMove move = RowMove::kTake;
  std::shared_ptr<RowShelf> shelf;
  uint64_t sample = 0;
  RowParts parts;
};

struct RowMoved {
  uint64_t id = 0;
  RowMove move = RowMove::kTake;
  bool done = false;  // of kTake: whether the row is in the slot; of kPut: always
};

class RowKeepers {
 public:
  // Each thread is called `name` and its number.
  RowKeepers(std::string name, uint32_t count) : name_(std::move(name)), count_(count) {}
  ~RowKeepers();
  absl::Status Start();  // call it once

  // Signalled when there is something to collect. Edge-triggered: it is never drained.
  const posix::Fd& event() const { return event_; }

  // Whether so few rows wait that one more to be put would not hold up others for long.
  bool MayPut() const;
  // Whether a row has been copied for so long that its storage must hang.
  bool IsStuck(base::TimePoint now) const;
  // Several at once, because a lock and a wake-up for each would cost as much as a small row.
  // Leaves `jobs` empty.
  void Submit(std::vector<RowJob>& jobs);
  // Returns what has ended since the last call.
  std::vector<RowMoved> Collect();

 private:
  void Work(uint32_t number);
  bool Next(uint32_t number, std::vector<RowJob>& jobs);

  const std::string name_;
  const uint32_t count_;
  posix::Fd event_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  uint32_t idle_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // threads that wait
  std::deque<RowJob> waiting_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uint32_t, base::TimePoint> busy_since_ PENSTOCK_GUARDED_BY(mutex_);  // by thread
  std::vector<RowMoved> moved_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;  // declared last, because they use all members above
};

}  // namespace penstock::kept
