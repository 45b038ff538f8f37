// An engine with real workers over photographs in memory, and consumers driven by the tests.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/posix/memory.h"
#include "common/shm/control_page.h"
#include "server/feed/engine/engine.h"
#include "tests/support/fakes/fake_dataset.h"

namespace penstock::feed {

// The client's side of one session: the control page that a client maps and the event that it
// writes.
class Consumer {
 public:
  Consumer(posix::Mapping page, posix::Fd event)
      : page_(std::move(page)), event_(std::move(event)) {}

  shm::ControlPage& page() const { return *reinterpret_cast<shm::ControlPage*>(page_.data()); }
  uint64_t announced() const { return page().announced.load(); }
  shm::SessionState state() const { return static_cast<shm::SessionState>(page().state.load()); }
  const shm::ControlEntry& Entry(uint64_t sequence) const {
    return page().entries[(sequence - 1) % shm::kControlCapacity];
  }
  void Take(uint64_t sequence) { page().taken.store(sequence); }
  void Release(uint64_t sequence) {
    page().released[(sequence - 1) % shm::kControlCapacity].store(sequence);
  }

 private:
  posix::Mapping page_;
  posix::Fd event_;
};

// A copy of one announced batch.
struct Copied {
  uint64_t epoch = 0, first = 0;
  std::vector<std::byte> pixels = {};
  std::vector<uint64_t> ids = {};
  std::vector<int64_t> labels = {};
  bool operator==(const Copied&) const = default;
};

class EngineRig {
 public:
  static constexpr uint64_t kSamples = 40;
  static constexpr uint32_t kBatch = 4;

  // `copier` makes the copiers for device sessions; `auto_workers` is passed on to the engine's
  // options.
  explicit EngineRig(uint32_t workers = 1, exporting::Gpus::MakeCopier copier = nullptr,
                     std::optional<WorkerDemand::Options> auto_workers = {});

  ~EngineRig() { LetGo(); }  // the engine waits for reads that hang

  Engine& engine() { return *engine_; }
  const std::shared_ptr<DatasetState>& dataset() const { return dataset_; }

  // Sets what every later read of the sample returns.
  void Become(uint64_t sample, absl::StatusOr<testing::FakeDataset::Bytes> bytes);
  // The sample's next read hangs until LetGo.
  void Hang(uint64_t sample) { files_->to_hang = sample; }
  void LetGo();
  enum class Hanging { kNotYet, kHangs, kLetGo, kOver };
  Hanging hanging() const { return files_->hanging; }
  static testing::FakeDataset::Bytes Photograph(uint64_t sample);

  // Requests one epoch of small rows in sequential order.
  OpenRequest Request(uint64_t peer, uint32_t user = 1000) const;
  // Opens a session, which must succeed. consumer() returns its consumer.
  uint64_t Open(const OpenRequest& request);
  absl::StatusOr<session::Grant> Ask(const OpenRequest& request);
  Consumer& consumer(uint64_t session) { return *consumers_.at(session); }

  // Runs the engine until the condition holds; returns false after 20 s.
  bool RunUntil(const std::function<bool()>& condition);
  bool RunUntilAnnounced(uint64_t session, uint64_t count);
  // Copies an announced batch through the segments that the session's peer maps.
  Copied Copy(uint64_t session, uint64_t sequence);
  // Takes, copies and releases batches until no more arrive.
  std::vector<Copied> TakeAll(uint64_t session);

  // Called in each pass of the engine.
  std::function<void()> each_turn = [] {};
  // The result of every later message that the engine sends.
  absl::Status send_status;

 private:
  absl::Status Send(uint64_t peer, const void* message, size_t bytes, const std::vector<int>& fds);

  struct Shared {
    base::Mutex mutex;
    std::map<uint64_t, absl::StatusOr<testing::FakeDataset::Bytes>> changed
        PENSTOCK_GUARDED_BY(mutex);
    std::atomic<uint64_t> to_hang{UINT64_MAX};  // sample
    std::atomic<Hanging> hanging{Hanging::kNotYet};
  };
  // Shared with the dataset's readers.
  const std::shared_ptr<Shared> files_ = std::make_shared<Shared>();
  std::shared_ptr<DatasetState> dataset_;
  std::map<uint64_t, std::unique_ptr<Consumer>> consumers_;           // by session
  std::map<uint64_t, uint64_t> peers_;                                // by session
  std::map<uint64_t, uint64_t> row_bytes_;                            // likewise
  std::map<std::pair<uint64_t, uint32_t>, posix::Mapping> segments_;  // by peer and id
  std::unique_ptr<Engine> engine_;
};

inline constexpr uint64_t kPeer = 5, kOtherPeer = 6;
inline constexpr uint64_t kBatches = EngineRig::kSamples / EngineRig::kBatch;  // in one epoch

}  // namespace penstock::feed
