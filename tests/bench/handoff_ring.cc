#include "tests/bench/handoff_ring.h"

#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "client/src/session/session_core.h"
#include "common/base/clock.h"
#include "server/export/host_delivery.h"
#include "server/pool/pool.h"
#include "tests/bench/harness/forked.h"
#include "tests/bench/harness/interrupt.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/harness/syscall_counter.h"

namespace penstock::bench {
namespace {

constexpr uint32_t kWarmUpBlocks = 8;
constexpr uint32_t kSlots = 4;
constexpr uint32_t kSegment = 1;
constexpr uint64_t kSession = 1;
constexpr uint64_t kSamples = uint64_t{1} << 40;  // more than will be announced
constexpr uint32_t kRows = 32, kSide = 224, kChannels = 3;
constexpr char kNoGpu[] = "this suite hands over batches in host memory";
constexpr base::Duration kLongest = std::chrono::seconds(60);

// The consumer's report, written only by the consumer.
struct Report {
  double nanoseconds[kMostBlocks];  // for one hand-over, by block
  uint64_t system_calls;
  char trouble[256];
};

client::Grant GrantOf(const pool::SlotLayout& layout) {
  client::Grant grant;
  grant.session_id = kSession;
  grant.batch_size = kRows;
  grant.row_bytes = kSide * kSide * kChannels;
  grant.height = kSide;
  grant.width = kSide;
  grant.channels = kChannels;
  grant.labels_offset = layout.labels_offset;
  grant.ids_offset = layout.ids_offset;
  grant.slot_bytes = layout.slot_bytes;
  grant.samples = grant.epoch_samples = kSamples;
  grant.classes = 1;
  return grant;
}

// Memory that both sides see: page, event and segment. Made before the consumer is forked.
struct Stage {
  std::unique_ptr<exporting::HostDelivery> delivery;
  client::Grant grant;
  std::shared_ptr<const posix::Mapping> segment;  // shared with the client's link
  posix::Mapping page_mapping;

  shm::ControlPage& page() const {
    return *reinterpret_cast<shm::ControlPage*>(page_mapping.data());
  }
};

absl::StatusOr<Stage> MakeStage() {
  const pool::SlotLayout layout = pool::LayOut({kSide * kSide * kChannels}, kRows);
  PENSTOCK_ASSIGN_OR_RETURN(auto delivery, exporting::HostDelivery::Make(kSession, kBlock));
  const size_t bytes = kSlots * layout.slot_bytes;
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory, posix::MakeMemory("bench-segment", bytes));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping segment,
                            posix::Mapping::Map(memory, bytes, posix::Access::kReadOnly));
  PENSTOCK_ASSIGN_OR_RETURN(
      posix::Mapping page,
      posix::Mapping::Map(delivery->memory(), shm::kControlBytes, posix::Access::kReadWrite));
  return Stage{std::move(delivery), GrantOf(layout),
               std::make_shared<const posix::Mapping>(std::move(segment)), std::move(page)};
}

// ---- The consumer's process. ----

// A link whose segment exists from the start. There is no daemon behind the doorway.
class ReadyLink final : public client::Link {
 public:
  explicit ReadyLink(std::shared_ptr<const posix::Mapping> segment)
      : segment_(std::move(segment)) {}
  absl::Status Pump() override { return absl::OkStatus(); }
  std::shared_ptr<const posix::Mapping> Segment(uint32_t) override { return segment_; }
  std::shared_ptr<client::PrivateViews> Views(uint32_t) override { return nullptr; }
  absl::StatusOr<std::shared_ptr<const client::PinnedSegment>> Pin(uint32_t,
                                                                   client::Gpu&) override {
    return absl::FailedPreconditionError(kNoGpu);
  }
  std::shared_ptr<const client::Gpu::Memory> Slab(uint32_t) override { return nullptr; }
  absl::Status FetchSlabs(uint64_t, client::Gpu&) override {
    return absl::FailedPreconditionError(kNoGpu);
  }
  absl::StatusOr<client::Progress> GetProgress(uint64_t, base::Duration) override {
    return absl::UnavailableError("the benchmark has no daemon");
  }
  absl::Status ReportUndecodable(uint64_t, std::span<const uint64_t>, base::Duration) override {
    return absl::OkStatus();
  }
  absl::Status CloseSession(uint64_t, base::Duration) override { return absl::OkStatus(); }

 private:
  const std::shared_ptr<const posix::Mapping> segment_;  // shared with the attachment
};

class NoOpener final : public client::Opener {
 public:
  absl::StatusOr<client::Opened> Open(const std::optional<State>&, uint64_t,
                                      base::TimePoint) override {
    return absl::FailedPreconditionError("the benchmark opens its session only once");
  }
  absl::StatusOr<uint64_t> Quarantined() override { return 0; }
};

// Does what Session::Next and Batch::Release do, which only forward the calls.
class ClientHandoff {
 public:
  static absl::StatusOr<ClientHandoff> Make(const Stage& stage) {
    PENSTOCK_ASSIGN_OR_RETURN(posix::Fd event, stage.delivery->event().Duplicate());
    PENSTOCK_ASSIGN_OR_RETURN(
        client::Attachment * attachment,
        client::Attachment::Make(stage.grant, stage.delivery->memory(), std::move(event),
                                 std::make_shared<ReadyLink>(stage.segment)));
    return ClientHandoff(std::make_unique<client::SessionCore>(
        std::make_unique<NoOpener>(), client::Opened{client::AttachmentHold(attachment)},
        client::SessionCore::Begin()));
  }

  bool operator()() {
    Result<Batch> batch = session_->Next(std::chrono::milliseconds(0));
    if (!batch.ok()) return false;
    batch->Release();
    return true;
  }

 private:
  explicit ClientHandoff(std::unique_ptr<client::SessionCore> session)
      : session_(std::move(session)) {}
  std::unique_ptr<client::SessionCore> session_;
};

class BareHandoff {
 public:
  explicit BareHandoff(shm::ControlPage& page) : page_(page) {}

  bool operator()() {
    if (page_.announced.load(std::memory_order_acquire) == taken_) return false;
    const uint32_t place = taken_ % shm::kControlCapacity;
    std::memcpy(&entry_, &page_.entries[place], sizeof(entry_));
    page_.taken.store(++taken_, std::memory_order_release);
    page_.released[place].store(taken_, std::memory_order_release);
    return entry_.sequence == taken_;
  }

 private:
  shm::ControlPage& page_;
  shm::ControlEntry entry_;
  uint64_t taken_ = 0;
};

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits without a system call while these are counted. If the wait never ends, the parent kills
// this process.
void WaitUntilAnnounced(const shm::ControlPage& page, uint64_t count, Mode mode) {
  for (uint32_t spins = 1; page.announced.load(std::memory_order_acquire) < count; ++spins) {
    Relax();
    if (mode == Mode::kTimed && spins % 1024 == 0) ::sched_yield();
  }
}

double NowNanoseconds() { return static_cast<double>(base::Now().time_since_epoch().count()); }

template <typename Handoff>
absl::Status Consume(Handoff& handoff, const Stage& stage, const Handoffs& wanted, Report& report) {
  for (uint32_t block = 0; block < kWarmUpBlocks + wanted.blocks; ++block) {
    if (block == kWarmUpBlocks && wanted.mode != Mode::kTimed) {
      PENSTOCK_RETURN_IF_ERROR(CountSystemCalls());
    }
    WaitUntilAnnounced(stage.page(), uint64_t{block + 1} * kBlock, wanted.mode);
    const double start = wanted.mode == Mode::kTimed ? NowNanoseconds() : 0;
    for (uint32_t i = 0; i < kBlock; ++i) {
      if (!handoff()) return absl::InternalError("a batch that was announced could not be taken");
    }
    if (wanted.mode != Mode::kTimed || block < kWarmUpBlocks) continue;
    report.nanoseconds[block - kWarmUpBlocks] = (NowNanoseconds() - start) / kBlock;
  }
  if (wanted.mode == Mode::kTimed) return absl::OkStatus();
  report.system_calls = CountedSystemCalls();
  ::_exit(0);  // everything after this would make system calls
}

absl::Status RunConsumer(const Stage& stage, const Handoffs& wanted, Report& report) {
  if (wanted.consumer == Consumer::kBare) {
    BareHandoff handoff(stage.page());
    return Consume(handoff, stage, wanted, report);
  }
  PENSTOCK_ASSIGN_OR_RETURN(ClientHandoff handoff, ClientHandoff::Make(stage));
  return Consume(handoff, stage, wanted, report);
}

// ---- The producer, which is this process. ----

shm::ControlEntry EntryOf(uint64_t sequence, const client::Grant& grant) {
  shm::ControlEntry entry = {};
  entry.sequence = sequence;
  entry.generation = sequence;
  entry.segment = kSegment;
  entry.rows = kRows;
  entry.valid_rows = kRows;
  entry.offset = sequence % kSlots * grant.slot_bytes;
  entry.first = (sequence - 1) * kRows;
  entry.step = sequence - 1;
  entry.consumed = sequence * kRows;
  return entry;
}

// Polls, as the daemon's runner does, until the consumer has released this many more batches.
absl::Status WaitUntilReleased(const Stage& stage, uint32_t batches, base::TimePoint deadline,
                               ForkedChild& consumer, const Report& report) {
  for (uint32_t spins = 1;; ++spins) {
    const size_t released = stage.delivery->Listen().released.size();
    if (released >= batches) return absl::OkStatus();
    batches -= released;
    Relax();
    if (spins % 1024 != 0) continue;
    ::sched_yield();
    PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
    if (const absl::Status ended = consumer.Check(); !ended.ok()) {
      return absl::InternalError(absl::StrCat("the consumer failed: ", report.trouble));
    }
    if (base::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          batches, " ready batches were not taken within a minute; is this machine busy?"));
    }
  }
}

absl::Status Produce(Stage& stage, uint32_t blocks, ForkedChild& consumer, const Report& report) {
  const base::TimePoint deadline = base::Now() + kLongest;
  uint64_t sequence = 0;
  for (uint32_t block = 0; block < blocks; ++block) {
    for (uint32_t i = 0; i < kBlock; ++i) {
      stage.delivery->Announce(EntryOf(++sequence, stage.grant), exporting::FullSlot());
    }
    PENSTOCK_RETURN_IF_ERROR(WaitUntilReleased(stage, kBlock, deadline, consumer, report));
  }
  return absl::OkStatus();
}

absl::Status WaitForEnd(ForkedChild& consumer) {
  const base::TimePoint deadline = base::Now() + kLongest;
  while (!consumer.Ended()) {
    PENSTOCK_RETURN_IF_ERROR(consumer.Check());
    PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
    if (base::Now() > deadline) {
      return absl::DeadlineExceededError("the consumer did not end within a minute");
    }
    ::sched_yield();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> MeasureHandoffs(const Handoffs& handoffs) {
  PENSTOCK_ASSIGN_OR_RETURN(Stage stage, MakeStage());
  PENSTOCK_ASSIGN_OR_RETURN(const Shared<Report> report, Shared<Report>::Make());
  stage.delivery->SetAsleep(handoffs.mode == Mode::kCountedAsleep);
  PENSTOCK_ASSIGN_OR_RETURN(ForkedChild consumer, ForkedChild::Start([&] {
                              const absl::Status status = RunConsumer(stage, handoffs, *report);
                              const std::string trouble(status.message());
                              trouble.copy(report->trouble, sizeof(report->trouble) - 1);
                              return status.ok() ? 0 : 1;
                            }));
  PENSTOCK_RETURN_IF_ERROR(Produce(stage, kWarmUpBlocks + handoffs.blocks, consumer, *report));
  PENSTOCK_RETURN_IF_ERROR(WaitForEnd(consumer));
  if (handoffs.mode == Mode::kTimed) {
    return Median({report->nanoseconds, report->nanoseconds + handoffs.blocks});
  }
  return static_cast<double>(report->system_calls) / (handoffs.blocks * kBlock);
}

}  // namespace penstock::bench
