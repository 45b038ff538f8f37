// The state directory, whose storage may hang or be full: whoever reads or writes there waits for
// as long as it goes on, and no longer; and what is only to be kept is left to a thread of its own
// ("state"). Any thread may call; the end waits for what is under way (server/app/end_limit.h).
//
// Who needs it shares it: the catalogue, and the quarantines of what it opened.
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
    base::Duration patience = std::chrono::seconds(2);   // for a step
    base::Duration try_again = std::chrono::seconds(5);  // to write what could not be written
    // Of texts that wait to be written.
    size_t most_files = 512;
    uint64_t most_bytes = uint64_t{64} << 20;
    // How a text is written; tests have another way.
    std::function<absl::Status(const std::string& path, absl::string_view text)> write = {};
  };
  StateAccess() : StateAccess(Options{}) {}
  explicit StateAccess(Options options);
  // Writes what waits, each text once.
  ~StateAccess();

  // Does the job, which calls `step` as it goes on, on a thread of its own, and waits for its
  // answer. Unavailable: a step took longer than the patience, or another job's step does; then the
  // job may be done later, or never, so that it owns all that it uses.
  template <typename T>
  absl::StatusOr<T> Ask(std::function<absl::StatusOr<T>(const Step& step)> job) {
    auto answer = std::make_shared<std::optional<absl::StatusOr<T>>>();
    PENSTOCK_RETURN_IF_ERROR(
        Do([job = std::move(job), answer](const Step& step) { answer->emplace(job(step)); }));
    return *std::move(*answer);
  }

  // Writes the text to that file of a folder that is made, some time soon; of several texts for one
  // file the last. Never waits. ResourceExhausted: too much waits already.
  absl::Status WriteLater(const std::string& path, std::string text);
  // What is to be written there, and may not have been.
  std::optional<std::string> Waiting(const std::string& path) const;

  // What is wrong with the state directory now, for people; empty: nothing that is known.
  std::string trouble() const;

 private:
  struct Text {
    std::string text;
    base::TimePoint since{};       // it waits
    base::TimePoint not_before{};  // it is tried again
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
  posix::LooseThreads jobs_ PENSTOCK_GUARDED_BY(mutex_);  // its end waits for them

  // Texts: the one that is being written stays among them until it is.
  std::map<std::string, Text> texts_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::string writing_ PENSTOCK_GUARDED_BY(mutex_);  // whose; empty: none
  base::TimePoint writing_since_ PENSTOCK_GUARDED_BY(mutex_);
  bool replaced_ PENSTOCK_GUARDED_BY(mutex_) = false;    // by another text, meanwhile
  std::string not_written_ PENSTOCK_GUARDED_BY(mutex_);  // why, the last time; empty: all was
  std::thread writer_;
};

// The same without one, or through it.
template <typename T>
absl::StatusOr<T> Ask(const std::shared_ptr<StateAccess>& access,
                      std::function<absl::StatusOr<T>(const Step& step)> job) {
  if (access == nullptr) return job([] {});
  return access->Ask<T>(std::move(job));
}

}  // namespace penstock::source
