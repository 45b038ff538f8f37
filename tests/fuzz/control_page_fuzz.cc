// A consumer that writes anything anywhere in its control page, against the delivery and the core
// that read the page. The input is a list of 11-byte steps: an action, an offset and a number.
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>

#include "common/base/check.h"
#include "common/shm/control_page.h"
#include "server/export/host_delivery.h"
#include "server/feed/core/core.h"

namespace exporting = penstock::exporting;
namespace feed = penstock::feed;
namespace posix = penstock::posix;
namespace shm = penstock::shm;

namespace {

constexpr uint32_t kWindow = 4, kSlots = 8, kBatch = 2;
constexpr feed::SessionId kConsumer{1}, kNeighbour{2};
constexpr size_t kStepBytes = 11;

class Daemon {
 public:
  Daemon() : delivery_(exporting::HostDelivery::Make(1, kWindow).value()) {
    theirs_ = posix::Mapping::Map(delivery_->memory(), delivery_->memory_bytes(),
                                  posix::Access::kReadWrite)
                  .value();
    for (uint32_t i = 0; i < kSlots; ++i) {
      const feed::SlotId slot{i};
      core_.AddSlots(feed::ArenaId(1), std::span(&slot, 1));
    }
    for (const feed::SessionId id : {kConsumer, kNeighbour}) {
      feed::SessionSpec spec;
      spec.user = feed::UserId(7);
      spec.feed = feed::FeedId(id.value());
      spec.arena = feed::ArenaId(1);
      spec.share = {.samples = 100, .batch_size = kBatch};
      spec.window = kWindow;
      PENSTOCK_CHECK(core_.OpenSession(id, spec, {}).ok());
    }
  }

  void Step(std::span<const uint8_t> step) {
    uint16_t where;
    uint64_t number;
    std::memcpy(&where, step.data() + 1, sizeof(where));
    std::memcpy(&number, step.data() + 3, sizeof(number));
    switch (step[0] % 8) {
      case 0:
      case 1:
        return Write(where, number);
      case 2:
        return Write(offsetof(shm::ControlPage, taken), number % (2 * kWindow));
      case 3:  // the way an honest consumer releases
        return Write(offsetof(shm::ControlPage, released) + 8 * (number % shm::kControlCapacity),
                     number % shm::kControlCapacity + 1);
      case 4:
        return Fill();
      case 5:
        return TakeAsNeighbour();
      case 6:
        return delivery_->SetAsleep(number % 2 == 0);
      default:
        return Listen();
    }
  }

  // Whatever the consumer wrote, the other session continues and all slots come back.
  void End() {
    Listen();
    if (!failed_) core_.CloseSession(kConsumer);
    for (int i = 0; i < 50; ++i) {
      Fill();
      TakeAsNeighbour();
    }
    PENSTOCK_CHECK(taken_by_neighbour_ >= 50);
    core_.CloseSession(kNeighbour);
    PENSTOCK_CHECK(core_.CountAll().held == 0 && core_.CountAll().filling == 0);
    delivery_->Finish(shm::SessionState::kFailed, absl::InternalError("the end"));
  }

 private:
  void Write(size_t where, uint64_t number) {
    const size_t offset = where % (delivery_->memory_bytes() - sizeof(number));
    std::memcpy(theirs_.data() + offset, &number, sizeof(number));
  }

  void Fill() {
    for (uint32_t row = 0; row < kBatch; ++row)
      if (const auto task = core_.NextRow()) core_.RowDone(*task);
    for (const feed::Announcement& told : core_.TakeAnnouncements()) {
      if (told.session == kNeighbour) {
        PENSTOCK_CHECK(told.sequence == announced_to_neighbour_ + 1);
        announced_to_neighbour_ = told.sequence;
      } else if (!failed_) {
        shm::ControlEntry entry{};
        entry.sequence = told.sequence;
        entry.generation = told.generation;
        delivery_->Announce(entry, {});
        outstanding_.insert(told.sequence);
      }
    }
  }

  void TakeAsNeighbour() {
    if (taken_by_neighbour_ == announced_to_neighbour_) return;
    ++taken_by_neighbour_;
    PENSTOCK_CHECK(core_.Taken(kNeighbour, taken_by_neighbour_, {}).ok());
    PENSTOCK_CHECK(core_.Released(kNeighbour, taken_by_neighbour_, {}).ok());
  }

  // Like the runner, ends the session if the consumer reports something impossible.
  void Listen() {
    if (failed_) return;
    const exporting::BatchDelivery::Heard heard = delivery_->Listen();
    absl::Status status = core_.Taken(kConsumer, heard.taken, {});
    for (const uint64_t sequence : heard.released) {
      PENSTOCK_CHECK(outstanding_.erase(sequence) == 1);  // announced, and released only once
      if (status.ok()) status = core_.Released(kConsumer, sequence, {});
    }
    const auto view = core_.View(kConsumer);
    PENSTOCK_CHECK(view->released <= view->taken && view->taken <= view->announced);
    PENSTOCK_CHECK(view->announced - view->released <= kWindow);
    PENSTOCK_CHECK(delivery_->LookAtConsumer().ready <= view->announced);  // used for status only
    if (status.ok()) return;
    core_.CloseSession(kConsumer);
    failed_ = true;
  }

  feed::Core core_;
  std::unique_ptr<exporting::HostDelivery> delivery_;
  posix::Mapping theirs_;
  std::set<uint64_t> outstanding_;
  uint64_t announced_to_neighbour_ = 0, taken_by_neighbour_ = 0;
  bool failed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Daemon daemon;
  for (size_t at = 0; at + kStepBytes <= size && at < 400 * kStepBytes; at += kStepBytes)
    daemon.Step({data + at, kStepBytes});
  daemon.End();
  return 0;
}
