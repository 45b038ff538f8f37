// The contract of every delivery: the same batches in the same order with the same bytes, and the
// same final state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "server/export/device_delivery.h"
#include "server/export/host_delivery.h"
#include "tests/support/fakes/fake_copier.h"
#include "tests/support/fakes/pool_segment.h"

namespace penstock::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kWindow = 8;
constexpr uint32_t kSlots = 12;

// A delivery, with its consumer's access to the bytes of a batch.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual BatchDelivery& delivery() = 0;
  // Completes all copies in progress.
  virtual void Settle() {}
  virtual const std::byte* BytesOf(const shm::ControlEntry& entry) = 0;
};

class HostSubject final : public Subject {
 public:
  explicit HostSubject(const PoolSegment& segment) : segment_(segment) {}
  BatchDelivery& delivery() override { return *delivery_; }
  const std::byte* BytesOf(const shm::ControlEntry& entry) override {
    EXPECT_EQ(entry.segment, PoolSegment::kId);
    return segment_.data() + entry.offset;
  }

 private:
  const PoolSegment& segment_;
  const std::unique_ptr<HostDelivery> delivery_ = *HostDelivery::Make(7, kWindow);
};

class DeviceSubject final : public Subject {
 public:
  DeviceSubject() {
    auto copier = std::make_unique<FakeCopier>();
    copier_ = copier.get();
    gpu_ = std::make_unique<Gpu>(cuda::Uuid{}, Gpu::Options{.max_bytes = 64u << 20},
                                 std::move(copier), [this] { return ++last_slab_; });
    gpu_->Reserve({.peer = 1, .slot_bytes = PoolSegment::kSlotBytes, .depth = 2},
                  [&](absl::StatusOr<DeviceReservation> reservation) {
                    delivery_ = *DeviceDelivery::Make(7, kWindow, PoolSegment::kRows,
                                                      *std::move(reservation));
                  });
    gpu_->Collect();
  }
  BatchDelivery& delivery() override { return *delivery_; }
  void Settle() override {
    copier_->Complete();
    gpu_->Collect();
  }
  const std::byte* BytesOf(const shm::ControlEntry& entry) override {
    return copier_->slabs.at(entry.segment).data() + entry.offset;
  }

 private:
  uint32_t last_slab_ = 0;
  FakeCopier* copier_ = nullptr;
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<DeviceDelivery> delivery_;
};

class DeliveryContractTest : public ::testing::TestWithParam<const char*> {
 protected:
  DeliveryContractTest() {
    if (std::string(GetParam()) == "host") {
      subject_ = std::make_unique<HostSubject>(segment_);
    } else {
      subject_ = std::make_unique<DeviceSubject>();
    }
    mapping_ = *posix::Mapping::Map(delivery().memory(), delivery().memory_bytes(),
                                    posix::Access::kReadWrite);
  }
  BatchDelivery& delivery() { return subject_->delivery(); }

  void Announce(uint64_t sequence) {
    const auto slot = static_cast<uint32_t>(sequence - 1);
    delivery().Announce(PoolSegment::Entry(sequence, slot), segment_.Slot(slot));
  }
  // Completes all copies in progress, then does one pass of the runner.
  void Turn() {
    subject_->Settle();
    const BatchDelivery::Heard heard = delivery().Listen();
    EXPECT_GE(heard.taken, taken_);
    taken_ = heard.taken;
    let_go_.insert(let_go_.end(), heard.released.begin(), heard.released.end());
  }

  // The consumer's side.
  shm::ControlPage& page() { return *reinterpret_cast<shm::ControlPage*>(mapping_.data()); }
  uint64_t announced() { return page().announced.load(); }
  const shm::ControlEntry& entry(uint64_t sequence) {
    return page().entries[(sequence - 1) % shm::kControlCapacity];
  }
  void Take(uint64_t count) { page().taken.store(count); }
  void Release(uint64_t sequence) {
    page().released[(sequence - 1) % shm::kControlCapacity].store(sequence);
  }
  template <typename T>
  T Note(const shm::ControlEntry& of, uint64_t in_slot, uint64_t in_notes, uint32_t row) {
    const std::byte* at = of.notes_offset == 0 ? subject_->BytesOf(of) + in_slot
                                               : mapping_.data() + of.notes_offset + in_notes;
    T value;
    std::memcpy(&value, at + row * sizeof(T), sizeof(T));
    return value;
  }
  uint32_t state() { return page().state.load(); }

  PoolSegment segment_{kSlots};
  std::unique_ptr<Subject> subject_;
  posix::Mapping mapping_;
  uint64_t taken_ = 0;
  std::vector<uint64_t> let_go_;
};

TEST_P(DeliveryContractTest, NothingHappensBeforeTheFirstBatch) {
  Turn();

  EXPECT_EQ(announced(), 0u);
  EXPECT_EQ(taken_, 0u);
  EXPECT_TRUE(let_go_.empty());
  EXPECT_EQ(state(), static_cast<uint32_t>(shm::SessionState::kOpen));
}

TEST_P(DeliveryContractTest, BatchesAreAnnouncedInOrderAsTheCoreSaid) {
  for (uint64_t sequence : {1, 2}) Announce(sequence);
  Turn();

  ASSERT_EQ(announced(), 2u);
  for (uint64_t sequence : {1, 2}) {
    const shm::ControlEntry said = PoolSegment::Entry(sequence, 0);
    EXPECT_EQ(entry(sequence).sequence, sequence);
    EXPECT_EQ(entry(sequence).epoch, said.epoch);
    EXPECT_EQ(entry(sequence).first, said.first);
    EXPECT_EQ(entry(sequence).step, said.step);
    EXPECT_EQ(entry(sequence).consumed, said.consumed);
    EXPECT_EQ(entry(sequence).rows, said.rows);
    EXPECT_EQ(entry(sequence).valid_rows, said.valid_rows);
  }
}

TEST_P(DeliveryContractTest, TheConsumerSeesEveryBatchsOwnBytesLabelsAndIds) {
  for (uint64_t sequence = 1; sequence <= kSlots; ++sequence) {
    Announce(sequence);
    Turn();
    ASSERT_EQ(announced(), sequence);
    Take(sequence);

    const auto slot = static_cast<uint32_t>(sequence - 1);
    const shm::ControlEntry& at = entry(sequence);
    EXPECT_EQ(std::memcmp(subject_->BytesOf(at), segment_.Slot(slot).data, PoolSegment::kIds), 0);
    for (uint32_t row = 0; row < PoolSegment::kRows; ++row) {
      EXPECT_EQ(Note<int64_t>(at, PoolSegment::kLabels, 0, row), PoolSegment::Label(slot, row));
      EXPECT_EQ(Note<uint64_t>(at, PoolSegment::kIds, PoolSegment::kRows * sizeof(int64_t), row),
                PoolSegment::Id(slot, 1, row));
    }
    Release(sequence);
  }
}

TEST_P(DeliveryContractTest, EveryBatchOfThePoolIsLetGoOnceAndAfterItWasTaken) {
  for (uint64_t sequence = 1; sequence <= kWindow; ++sequence) Announce(sequence);
  for (uint64_t next = 1; next <= kWindow; ++next) {
    Turn();
    ASSERT_GE(announced(), next);
    Take(next);
    Release(next);
    for (uint64_t gone : let_go_) EXPECT_LE(gone, taken_);
  }
  Turn();

  EXPECT_EQ(taken_, kWindow);
  EXPECT_THAT(let_go_, UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_P(DeliveryContractTest, BatchesMayBeReleasedInAnyOrder) {
  for (uint64_t sequence : {1, 2}) Announce(sequence);
  Turn();
  Take(2);
  Release(2);
  Turn();
  Release(1);
  Turn();

  EXPECT_THAT(let_go_, UnorderedElementsAre(1, 2));
  EXPECT_TRUE(delivery().Leave());
}

TEST_P(DeliveryContractTest, TheEndIsSaidOnlyBehindTheLastBatch) {
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) Announce(sequence);
  delivery().Finish(shm::SessionState::kFinished, absl::OkStatus());

  for (uint64_t next = 1; next <= 5; ++next) {
    const bool over = state() == static_cast<uint32_t>(shm::SessionState::kFinished);
    EXPECT_TRUE(!over || announced() == 5u);
    Turn();
    ASSERT_GE(announced(), next);
    Take(next);
    Release(next);
  }
  Turn();

  EXPECT_EQ(state(), static_cast<uint32_t>(shm::SessionState::kFinished));
}

TEST_P(DeliveryContractTest, ASessionThatBeginsAtTheEndIsToldAtOnce) {
  delivery().Finish(shm::SessionState::kFinished, absl::OkStatus());

  EXPECT_EQ(state(), static_cast<uint32_t>(shm::SessionState::kFinished));
}

TEST_P(DeliveryContractTest, AFailureIsToldInItsOwnWords) {
  Announce(1);
  delivery().Finish(shm::SessionState::kFailed, absl::DataLossError("too many bad samples"));
  Turn();

  EXPECT_EQ(announced(), 1u);
  EXPECT_EQ(state(), static_cast<uint32_t>(shm::SessionState::kFailed));
  EXPECT_EQ(page().error_code, static_cast<uint32_t>(absl::StatusCode::kDataLoss));
  EXPECT_STREQ(page().error, "too many bad samples");
}

TEST_P(DeliveryContractTest, TheFirstLastWordStays) {
  delivery().Finish(shm::SessionState::kFailed, absl::DataLossError("first"));
  delivery().Finish(shm::SessionState::kFailed, absl::DataLossError("second"));
  delivery().Finish(shm::SessionState::kClosing, absl::UnavailableError("third"));

  EXPECT_EQ(state(), static_cast<uint32_t>(shm::SessionState::kFailed));
  EXPECT_STREQ(page().error, "first");
}

TEST_P(DeliveryContractTest, AClosingDaemonIsSaidAtOnce) {
  Announce(1);

  delivery().Finish(shm::SessionState::kClosing, absl::UnavailableError("the daemon is ending"));

  EXPECT_EQ(state(), static_cast<uint32_t>(shm::SessionState::kClosing));
  EXPECT_STREQ(page().error, "the daemon is ending");
}

TEST_P(DeliveryContractTest, WhoHoldsNothingLeavesAtOnce) {
  EXPECT_FALSE(delivery().MustBePolled());
  EXPECT_TRUE(delivery().Leave());
}

INSTANTIATE_TEST_SUITE_P(Deliveries, DeliveryContractTest, ::testing::Values("host", "device"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace penstock::exporting
