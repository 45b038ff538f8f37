// Sessions of a Python dataset: its batches, the memory in which a trainer gets them, and the hosts
// that the daemon wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/src/session/session_core.h"
#include "common/shm/python_slot.h"
#include "penstock/made.h"
#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kAtOnce{0};
constexpr uint64_t kDataOffset = 4096;
constexpr uint64_t kMost = 4 << 20;
constexpr uint64_t kLarge = (2 << 20) + 100, kSmall = 1000;

// 4 slots; 4 rows a batch.
Grant MadeGrant(char token = 'a') {
  Grant grant = SmallGrant();
  grant.row_bytes = 0;
  grant.height = grant.width = grant.channels = 0;
  grant.labels_offset = 0;
  grant.ids_offset = 32;
  grant.slot_bytes = kMost + (2 << 20);
  grant.made = {.data_offset = kDataOffset, .max_batch_bytes = kMost, .host_token = {}};
  grant.made->host_token.assign(16, token);
  return grant;
}

bool InForkedChild(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class MadeSessionTest : public ::testing::Test {
 protected:
  SessionCore Open(FakeDaemon& daemon) {
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon.Attach().value(), {});
  }
  SessionCore Open() { return Open(daemon_); }

  std::byte* DataOf(uint64_t sequence) {
    return daemon_.slots() + daemon_.Entry(sequence).offset + kDataOffset;
  }
  // Writes a batch of `bytes` bytes, whose content is its number, as a worker does.
  void Make(uint64_t sequence, uint64_t bytes) {
    const shm::PythonSlotHeader header = {.magic = shm::kPythonSlotMagic,
                                          .version = shm::kPythonSlotVersion,
                                          .buffer_count = 0,
                                          .total_bytes = bytes,
                                          .tail_offset = bytes,
                                          .table_bytes = 0,
                                          .skeleton_bytes = 0,
                                          .tail_crc32 = 0,
                                          .reserved = 0,
                                          .reserved_too = 0};
    std::memset(DataOf(sequence), static_cast<int>(sequence), bytes);
    std::memcpy(DataOf(sequence), &header, sizeof(header));
  }
  void MakeNext(uint64_t bytes) {
    const uint64_t sequence = daemon_.page().announced.load() + 1;
    Make(sequence, bytes);
    daemon_.AnnounceNext();
  }
  MadeBatch Take(SessionCore& session) {
    Result<Batch> batch = session.Next(kAtOnce);
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    return MadeBatch::From(*batch).OrDie();
  }
  uint64_t Released(uint64_t sequence) { return daemon_.page().released[(sequence - 1) % 256]; }
  // Behind the header, the content of a batch is its number.
  static bool Holds(std::span<const std::byte> bytes, uint64_t number) {
    for (const std::byte byte : bytes.subspan(sizeof(shm::PythonSlotHeader))) {
      if (byte != static_cast<std::byte>(number)) return false;
    }
    return true;
  }

  FakeDaemon daemon_{MadeGrant()}, second_{MadeGrant('b')};
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = {}};
};

TEST_F(MadeSessionTest, ABatchIsWhatItsWorkerWrote) {
  SessionCore session = Open();
  MakeNext(kSmall);

  const Result<Batch> batch = session.Next(kAtOnce);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->made().size(), kSmall);
  EXPECT_TRUE(Holds(batch->made(), 1));
  EXPECT_EQ(batch->sample_ids()[3], 103u);
  EXPECT_TRUE(batch->images().empty());
  EXPECT_EQ(batch->tensor(0).data, nullptr);
}

TEST_F(MadeSessionTest, ASmallBatchIsCopiedAndReleasedAtOnce) {
  SessionCore session = Open();
  MakeNext(kSmall);

  const MadeBatch made = Take(session);

  EXPECT_FALSE(made.lent());
  EXPECT_EQ(Released(1), 1u);
  std::memset(DataOf(1), 9, kSmall);
  EXPECT_TRUE(Holds(made.bytes(), 1));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(made.bytes().data()) % 64, 0u);
}

TEST_F(MadeSessionTest, ALargeBatchIsLentUntilItsHolderDropsIt) {
  SessionCore session = Open();
  MakeNext(kLarge);
  {
    const MadeBatch made = Take(session);

    EXPECT_TRUE(made.lent());
    EXPECT_EQ(made.bytes().size(), kLarge);
    EXPECT_TRUE(Holds(made.bytes(), 1));
    EXPECT_EQ(Released(1), 0u);
  }
  EXPECT_EQ(Released(1), 1u);
}

TEST_F(MadeSessionTest, WhatATrainerWritesIsSeenByNobodyElse) {
  SessionCore session = Open(), other = Open();
  MakeNext(kLarge);
  const MadeBatch made = Take(session), others = Take(other);

  std::memset(made.bytes().data() + 100, 77, kLarge - 100);

  EXPECT_TRUE(made.lent() && others.lent());
  EXPECT_TRUE(Holds({DataOf(1), kLarge}, 1));
  EXPECT_TRUE(Holds(others.bytes(), 1));
}

TEST_F(MadeSessionTest, WhatATrainerWroteIsNotInTheSlotsNextBatch) {
  SessionCore session = Open();
  MakeNext(kLarge);
  {
    const MadeBatch made = Take(session);
    made.bytes()[kLarge / 2] = std::byte{77};  // one page in the middle
    std::memset(made.bytes().data() + kLarge - 5000, 77, 5000);
  }
  for (int i = 2; i <= 5; ++i) MakeNext(kLarge);
  for (int i = 2; i <= 4; ++i) Take(session);

  const MadeBatch again = Take(session);  // in the first slot

  EXPECT_TRUE(again.lent());
  EXPECT_TRUE(Holds(again.bytes(), 5));
  EXPECT_LE(daemon_.link->views[kSegmentId]->kept(), 4u);  // one a slot
}

TEST_F(MadeSessionTest, ALargerBatchInTheSameSlotIsWhole) {
  SessionCore session = Open();
  MakeNext(kLarge);
  Take(session);
  for (int i = 2; i <= 4; ++i) MakeNext(kSmall);
  for (int i = 2; i <= 4; ++i) Take(session);
  MakeNext(kMost);

  const MadeBatch whole = Take(session);

  EXPECT_EQ(whole.bytes().size(), kMost);
  EXPECT_TRUE(Holds(whole.bytes(), 5));
}

TEST_F(MadeSessionTest, AHolderOfManyBatchesGetsCopiesAndNeverKeepsOthersFromComing) {
  SessionCore session = Open();
  std::vector<MadeBatch> held;
  for (uint64_t i = 1; i <= 10; ++i) {
    Make(i, kLarge);
    shm::ControlEntry entry = daemon_.Entry(i);
    if (i > 2) {  // as the daemon would: only slots that are free
      entry.offset = daemon_.Entry(3 + i % 2).offset;
      std::memcpy(daemon_.slots() + entry.offset + kDataOffset, DataOf(i), kLarge);
    }
    daemon_.Announce(entry);
    held.push_back(Take(session));
  }

  for (size_t i = 0; i < held.size(); ++i) {
    EXPECT_EQ(held[i].lent(), i < 2) << i;  // a window of 4 less 2
    EXPECT_EQ(Released(i + 1), i < 2 ? 0 : i + 1);
    EXPECT_TRUE(i < 2 || Holds(held[i].bytes(), i + 1)) << i;
  }
}

TEST_F(MadeSessionTest, ABatchOutlivesItsSessionAndItsDaemon) {
  std::unique_ptr<SessionCore> session(new SessionCore(Open()));
  MakeNext(kLarge);
  std::optional<MadeBatch> made(Take(*session));
  EXPECT_TRUE(session->Close().ok());
  session.reset();
  daemon_.link->segments.clear();
  daemon_.link->views.clear();

  EXPECT_TRUE(Holds(made->bytes(), 1));
  std::thread([&] { made.reset(); }).join();

  EXPECT_EQ(Released(1), 1u);
}

TEST_F(MadeSessionTest, AForkedChildReadsABatchAndReleasesNothing) {
  SessionCore session = Open();
  MakeNext(kLarge);
  std::optional<MadeBatch> made(Take(session));

  EXPECT_TRUE(InForkedChild([&] {
    const bool holds = Holds(made->bytes(), 1);
    made.reset();
    return holds;
  }));

  EXPECT_EQ(Released(1), 0u);
  EXPECT_TRUE(Holds(made->bytes(), 1));
}

TEST_F(MadeSessionTest, OnlyAMadeBatchThatIsHeldHasSuchMemory) {
  SessionCore session = Open();
  MakeNext(kSmall);
  Result<Batch> batch = session.Next(kAtOnce);
  batch->Release();
  EXPECT_EQ(MadeBatch::From(*batch).status().code(), Code::kFailedPrecondition);

  FakeDaemon images;
  SessionCore others = Open(images);
  images.AnnounceNext();
  Result<Batch> image = others.Next(kAtOnce);
  EXPECT_EQ(MadeBatch::From(*image).status().code(), Code::kFailedPrecondition);
  EXPECT_FALSE(image->images().empty());  // still held
}

TEST_F(MadeSessionTest, AHeaderThatLiesIsRefused) {
  SessionCore session = Open();
  MakeNext(kSmall);
  shm::PythonSlotHeader header;
  std::memcpy(&header, DataOf(1), sizeof(header));
  header.total_bytes = header.tail_offset = kMost + 1;
  std::memcpy(DataOf(1), &header, sizeof(header));

  const Status status = session.Next(kAtOnce).status();

  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("batch 1"));
}

TEST_F(MadeSessionTest, AnUnfinishedBatchIsRefused) {
  SessionCore session = Open();
  daemon_.AnnounceNext();

  EXPECT_THAT(session.Next(kAtOnce).status().message(), HasSubstr("not finished"));
}

TEST_F(MadeSessionTest, ASlotThatDoesNotBeginAtAPageIsRefused) {
  SessionCore session = Open();
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.offset += 64;
  daemon_.Announce(entry);

  EXPECT_THAT(session.Next(kAtOnce).status().message(), HasSubstr("offset"));
}

TEST_F(MadeSessionTest, AWantedHostEndsAWaitAgainAndAgainUntilItIsNoted) {
  SessionCore session = Open();
  EXPECT_EQ(session.HostsWanted(), 0u);
  std::thread daemon([&] {
    std::this_thread::sleep_for(milliseconds(20));
    daemon_.page().hosts_wanted.store(1);
    daemon_.Wake();
  });
  EXPECT_EQ(session.Next(std::chrono::minutes(1)).status().code(), Code::kHostWanted);
  daemon.join();
  EXPECT_EQ(session.Next(std::chrono::minutes(1)).status().code(), Code::kHostWanted);
  EXPECT_TRUE(*session.WaitReady(std::chrono::minutes(1)));
  EXPECT_EQ(session.HostsWanted(), 1u);

  EXPECT_TRUE(session.NoteHostForked().ok());

  EXPECT_EQ(daemon_.page().hosts_forked, 1u);
  EXPECT_EQ(session.HostsWanted(), 0u);
  EXPECT_EQ(session.Next(kAtOnce).status().code(), Code::kDeadlineExceeded);
}

TEST_F(MadeSessionTest, AHostThatIsWantedDuringAForkIsAnsweredLater) {
  SessionCore session = Open();
  daemon_.page().hosts_wanted.store(1);
  EXPECT_EQ(session.HostsWanted(), 1u);
  daemon_.page().hosts_wanted.store(2);

  EXPECT_TRUE(session.NoteHostForked().ok());

  EXPECT_EQ(daemon_.page().hosts_forked, 1u);
  EXPECT_EQ(session.HostsWanted(), 1u);
}

TEST_F(MadeSessionTest, ABatchThatIsReadyComesBeforeAWantedHost) {
  SessionCore session = Open();
  daemon_.page().hosts_wanted.store(1);
  MakeNext(kSmall);

  EXPECT_TRUE(session.Next(kAtOnce).ok());
  EXPECT_EQ(session.Next(kAtOnce).status().code(), Code::kHostWanted);
}

TEST_F(MadeSessionTest, AfterADaemonsRestartAHostIsWantedAgainUnderTheNewToken) {
  SessionCore session = Open();
  daemon_.page().hosts_wanted.store(1);
  EXPECT_EQ(session.HostsWanted(), 1u);
  EXPECT_TRUE(session.NoteHostForked().ok());
  daemon_.link->dead = true;
  second_.page().hosts_wanted.store(1);
  EXPECT_EQ(session.Next(std::chrono::seconds(5)).status().code(), Code::kUnavailable);
  EXPECT_EQ(session.HostsWanted(), 0u);

  EXPECT_EQ(session.Next(std::chrono::seconds(5)).status().code(), Code::kHostWanted);

  EXPECT_EQ(session.HostsWanted(), 1u);
  EXPECT_EQ(session.grant().made->host_token, std::string(16, 'b'));
}

TEST_F(MadeSessionTest, OtherDatasetsHaveNoHosts) {
  FakeDaemon images;
  SessionCore session = Open(images);
  images.page().hosts_wanted.store(1);

  EXPECT_EQ(session.HostsWanted(), 0u);
  EXPECT_EQ(session.Next(kAtOnce).status().code(), Code::kDeadlineExceeded);
}

class MadeGrantTest : public ::testing::Test {
 protected:
  static absl::StatusCode After(const std::function<void(Grant&)>& change) {
    Grant grant = MadeGrant();
    change(grant);
    return CheckGrant(grant).code();
  }
  static constexpr absl::StatusCode kRefused = absl::StatusCode::kInternal;
};

TEST_F(MadeGrantTest, OneThatFitsIsAccepted) {
  EXPECT_EQ(After([](Grant&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(After([](Grant& grant) { grant.slot_bytes = kDataOffset + kMost; }),
            absl::StatusCode::kOk);
}

TEST_F(MadeGrantTest, RowsAndTensorsAreRefused) {
  EXPECT_EQ(After([](Grant& grant) { grant.row_bytes = 12; }), kRefused);
  EXPECT_EQ(After([](Grant& grant) { grant.tensors.resize(1); }), kRefused);
  EXPECT_EQ(After([](Grant& grant) { grant.delivery = Delivery::kPinned; }), kRefused);
}

TEST_F(MadeGrantTest, ABatchThatDoesNotFitItsSlotIsRefused) {
  EXPECT_EQ(After([](Grant& grant) { grant.slot_bytes = kDataOffset + kMost - 1; }), kRefused);
  EXPECT_EQ(After([](Grant& grant) { grant.made->data_offset = UINT64_MAX - 4095; }), kRefused);
  EXPECT_EQ(After([](Grant& grant) { grant.made->max_batch_bytes = UINT64_MAX; }), kRefused);
  EXPECT_EQ(After([](Grant& grant) { grant.made->max_batch_bytes = 63; }), kRefused);
}

TEST_F(MadeGrantTest, ABatchOverTheSampleIdsOrBesideAPageIsRefused) {
  EXPECT_EQ(After([](Grant& grant) { grant.made->data_offset = 0; }), kRefused);
  EXPECT_EQ(After([](Grant& grant) { grant.made->data_offset = 4096 + 64; }), kRefused);
  EXPECT_EQ(After([](Grant& grant) { grant.ids_offset = 4096 - 8; }), kRefused);
}

TEST_F(MadeGrantTest, ATokenOfAnotherSizeIsRefused) {
  EXPECT_EQ(After([](Grant& grant) { grant.made->host_token = "short"; }), kRefused);
}

}  // namespace
}  // namespace penstock::client
