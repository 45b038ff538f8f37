// A daemon that sends nonsense: the worker or host says what is wrong, and never crashes or hangs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/maker/maker_daemon.h"

namespace penstock::client {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

struct Nonsense {
  const char* name;
  std::function<void(shm::MakeRequest&)> spoil;
  const char* words;
};

class JunkRequestTest : public ::testing::TestWithParam<Nonsense> {};

TEST_P(JunkRequestTest, ItIsRefusedInWordsForGood) {
  WorkerEnd end;
  const auto worker = end.Enter().value();
  end.SendSegment();
  shm::MakeRequest request = WorkerEnd::Request(1);
  GetParam().spoil(request);
  end.Push(request);

  const absl::Status status = worker->Next(Soon()).status();

  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr(GetParam().words));
  EXPECT_EQ(worker->Next(Soon()).status(), status);
  EXPECT_EQ(end.channel.started, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, JunkRequestTest,
    ::testing::Values(
        Nonsense{"Sequence", [](auto& r) { r.sequence = 2; }, "expected a request for batch 1"},
        Nonsense{"Kind", [](auto& r) { r.kind = shm::MakeKind{7}; }, "unknown kind 7"},
        Nonsense{"Room", [](auto& r) { r.kind = shm::MakeKind::kRoom; }, "nobody asked for"},
        Nonsense{"Rows", [](auto& r) { r.rows = 0; }, "no rows"},
        Nonsense{"Granted", [](auto& r) { r.granted = 8001; }, "grants 8001 bytes of at most 8000"},
        Nonsense{"Slot", [](auto& r) { r.slot_offset = UINT64_MAX - 63; }, "ends beyond"},
        Nonsense{"SlotInside", [](auto& r) { r.slot_offset = kSegmentBytes - 64; }, "ends beyond"},
        Nonsense{"Most", [](auto& r) { r.most = kSegmentBytes - 4096 - 127; }, "ends beyond"},
        Nonsense{"Huge", [](auto& r) { r.most = UINT64_MAX; }, "ends beyond"},
        Nonsense{"Ids", [](auto& r) { r.rows = 9; }, "9 ids end at 136"},
        Nonsense{"ManyIds", [](auto& r) { r.rows = UINT32_MAX; }, "beyond the start of the batch"},
        Nonsense{"IdsAligned", [](auto& r) { r.ids_offset = 65; }, "not aligned"},
        Nonsense{"Aligned", [](auto& r) { r.data_offset = 136; }, "not aligned"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(JunkTest, ABrokenRingOrTooManyRequestsAreNoticed) {
  WorkerEnd broken;
  const auto worker = broken.Enter().value();
  broken.channel.requests.pushed = shm::kPythonRingCapacity + 1;

  EXPECT_THAT(worker->Next(Soon()).status().message(), HasSubstr("ring of requests"));
}

TEST(JunkTest, AnythingButSegmentsAtTheDoorwayIsRefused) {
  WorkerEnd end;
  const auto worker = end.Enter().value();

  ASSERT_TRUE(end.daemon.Send(end.peer.id, shm::DoorwayKind::kSession, 0, {}).ok());

  EXPECT_THAT(worker->Next(Soon()).status().message(),
              HasSubstr("a message of kind 4, expected a segment"));
}

TEST(JunkTest, ASegmentThatIsSmallerThanAnnouncedIsRefused) {
  WorkerEnd end;
  const auto worker = end.Enter().value();

  end.daemon.SendSegment(end.peer.id, kSegmentId, end.segment, kSegmentBytes + 1);

  EXPECT_THAT(worker->Next(Soon()).status().message(),
              HasSubstr("segment 9: the daemon announced 65537 bytes, but it has 65536"));
}

TEST(JunkTest, AnEventThatIsNoneNeitherBlocksNorSpins) {
  WorkerEnd end;
  end.channel_memory.to_maker.receiver = posix::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto worker = end.Enter().value();

  EXPECT_THAT(worker->Next(Soon()).status().message(), HasSubstr("event cannot be read"));
}

TEST(JunkTest, AChannelOfAnotherVersionSizeOrWorkerIsRefused) {
  WorkerEnd newer, other;
  newer.channel.version = 2;
  other.channel.start = 2;

  EXPECT_EQ(newer.Enter().status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(other.Enter().status().message(),
              HasSubstr("start 2 at place 3, expected start 1 at place 3"));
  EXPECT_THAT(WorkerEnd().Enter(960).status().message(), HasSubstr("960 bytes, expected 1088"));
}

TEST(JunkTest, ADaemonThatSendsNoChannelIsNotWaitedForLongerThanSaid) {
  const MakerDaemon daemon;

  EXPECT_EQ(MakerWorker::Enter(daemon.address(), Token(), kAt, std::chrono::milliseconds(50))
                .status()
                .code(),
            Code::kDeadlineExceeded);
}

TEST(JunkTest, ARefusalIsSaidInTheDaemonsWords) {
  MakerDaemon daemon;
  daemon.book().Refuse(absl::NotFoundError("nobody asks for you"));

  const absl::Status status =
      MakerWorker::Enter(daemon.address(), Token(), kAt, kPatience).status();

  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("nobody asks for you"));
}

}  // namespace
}  // namespace penstock::client
