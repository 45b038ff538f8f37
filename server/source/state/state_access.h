// Access to the state directory, whose storage may hang or be full. Blocking jobs run on a thread
// of their own; the caller waits only as long as the job makes progress. Texts that only need to be
// stored eventually are left to the thread "state".
//
// **Thread safety**: any thread. The destructor waits for running jobs (server/app/end_limit.h).
// **Ownership**: shared by the catalogue and the quarantines of the datasets that it opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/loose_threads.h"
#include "server/source/state/state_file.h"

namespace penstock::source {

class StateAccess {
 public:
  struct Options {
    base::Duration patience = std::chrono::seconds(2);   // for one step
    base::Duration try_again = std::chrono::seconds(5);  // between attempts to write a text
    // Limits for the texts that wait to be written.
    size_t most_files = 512;
    uint64_t most_bytes = uint64_t{64} << 20;
    // Writes one text; tests replace it.
    std::function<absl::Status(const std::string& path, absl::string_view text)> write = {};
  };
  StateAccess() : StateAccess(Options{}) {}
  explicit StateAccess(Options options);
  // Tries once more to write each waiting text.
  ~StateAccess();

  // Runs `job` on a thread of its own and waits for its result. The job calls `step` whenever it
  // makes progress.
  // **Requires**: the job owns all that it uses, because after an error it may still run later, or
  // never.
  // **Errors**: Unavailable if a step of this job, or of another one, takes longer than `patience`.
  template <typename T>
  absl::StatusOr<T> Ask(std::function<absl::StatusOr<T>(const Step& step)> job) {
    auto answer = std::make_shared<std::optional<absl::StatusOr<T>>>();
    PENSTOCK_RETURN_IF_ERROR(
        Do([job = std::move(job), answer](const Step& step) { answer->emplace(job(step)); }));
    return *std::move(*answer);
  }

  // Schedules writing the text to `path`, creating its folder. If several texts for one file are
  // waiting, only the last is written. Never blocks.
  // **Errors**: ResourceExhausted if too much is waiting already.
  absl::Status WriteLater(const std::string& path, std::string text);
  // The text that is waiting to be written to `path`, if any.
  std::optional<std::string> Waiting(const std::string& path) const;

  // The current problem with the state directory, for messages; empty: no known problem.
  std::string trouble() const;

 private:
  struct Text {
    std::string text;
    base::TimePoint since{};       // when it was queued
    base::TimePoint not_before{};  // the next attempt is not before this
  };
  struct Job {
    std::atomic<uint64_t> steps = 0;
    bool done = false, overdue = false;
  };
  absl::Status Do(std::function<void(const Step&)> job);
  absl::Status NoAnswer() const PENSTOCK_REQUIRES(mutex_);
  void Write();
  std::map<std::string, Text>::iterator NextText(base::TimePoint now) PENSTOCK_REQUIRES(mutex_);
  void Wrote(const std::string& path, const absl::Status& written) PENSTOCK_REQUIRES(mutex_);

  const Options options_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool ending_ PENSTOCK_GUARDED_BY(mutex_) = false;
  // Jobs.
  size_t overdue_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  base::TimePoint overdue_since_ PENSTOCK_GUARDED_BY(mutex_);
  posix::LooseThreads jobs_ PENSTOCK_GUARDED_BY(mutex_);  // joined by the destructor

  // A text stays in the map until it has been written.
  std::map<std::string, Text> texts_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::string writing_ PENSTOCK_GUARDED_BY(mutex_);  // path of the text being written; empty: none
  base::TimePoint writing_since_ PENSTOCK_GUARDED_BY(mutex_);
  bool replaced_ PENSTOCK_GUARDED_BY(mutex_) = false;  // a newer text for `writing_` has arrived
  // Why the last attempt failed; empty: it succeeded.
  std::string not_written_ PENSTOCK_GUARDED_BY(mutex_);
  std::thread writer_;
};

// Runs the job through `access`, or directly if `access` is null.
template <typename T>
absl::StatusOr<T> Ask(const std::shared_ptr<StateAccess>& access,
                      std::function<absl::StatusOr<T>(const Step& step)> job) {
  if (access == nullptr) return job([] {});
  return access->Ask<T>(std::move(job));
}

}  // namespace penstock::source
