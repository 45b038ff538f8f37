// Full digests of datasets' content, made one after the other on a thread of their own ("digest"),
// and kept as long as their datasets are open. Whoever asks for one that is being made waits for
// that. Any thread may call; nothing here waits but the end.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/rpc/controller.h"
#include "server/source/dataset.h"

namespace penstock::app {

class ContentDigests {
 public:
  using Done = rpc::Callback<std::string>;

  // `threads`: that read at once.
  explicit ContentDigests(size_t threads);
  ~ContentDigests();  // stops; a read in progress may hold it up

  // `done` is called once, on the digest's thread or here. `cancelled` is asked several times a
  // second; a digest whose askers have all cancelled is broken off. ResourceExhausted: too many
  // wait.
  void Ask(std::shared_ptr<const source::Dataset> dataset, std::function<bool()> cancelled,
           Done done);
  // Nothing is digested from now on; what waits is answered so.
  void Close();

 private:
  struct Asker {
    std::function<bool()> cancelled;
    Done done;
  };
  struct Job {
    std::shared_ptr<const source::Dataset> dataset;  // also with the catalogue and feeds
    std::vector<Asker> askers;
  };
  struct Made {
    std::weak_ptr<const source::Dataset> dataset;
    std::string digest;
  };

  std::optional<std::string> Known(const source::Dataset& dataset) PENSTOCK_REQUIRES(mutex_);
  bool GoOn();
  static bool Wanted(const Job& job);
  void Run();
  void Finish(const absl::StatusOr<std::string>& digest);

  const size_t threads_;
  base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::deque<Job> jobs_ PENSTOCK_GUARDED_BY(mutex_);  // the first is being made
  std::vector<Made> made_ PENSTOCK_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace penstock::app
