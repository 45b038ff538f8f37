// Tests how workers handle good and bad samples when no worker dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/workers/worker_process.h"
#include "tests/system/workers/rig.h"

namespace penstock::workers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

MemoryDataset SmallDataset(int count = 10) {
  std::vector<std::vector<std::byte>> files;
  for (int i = 0; i < count; ++i) files.push_back(MakeJpeg(200 + 10 * i, 150 + 7 * i, i));
  return MemoryDataset(std::move(files));
}

std::vector<std::byte> Text(absl::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

size_t OpenDescriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

TEST(SupervisorTest, OptionsThatCannotBeAreRefused) {
  EXPECT_EQ(Supervisor({.read_ahead = kRingCapacity}).Start().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Supervisor({.arena_bytes = 4096}).Start().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Supervisor({.start_timeout = {}}).Start().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Supervisor({.sample_timeout = {}}).Start().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SupervisorTest, AMissingWorkerProgramIsNamed) {
  const absl::Status status = Supervisor({.program = "/nonexistent/penstock-worker"}).Start();

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/penstock-worker"));
}

TEST(SupervisorTest, SamplesThatAreNotWholeImagesAreRefusedWithTheirReason) {
  const std::vector<std::byte> whole = MakeJpeg(300, 200, 1);
  std::vector<std::byte> cut(whole.begin(), whole.begin() + whole.size() / 2);
  MemoryDataset dataset({Text(""), Text("this is a letter, not a photograph"), cut, whole});
  Rig rig(dataset, {.count = 1}, 4);

  for (uint64_t i = 0; i < 3; ++i) rig.Submit(i, i);
  ASSERT_TRUE(rig.RunUntilOutcomes(3));
  rig.Submit(3, 3);
  ASSERT_TRUE(rig.RunUntilOutcomes(4));

  EXPECT_EQ(rig.OutcomeOf(0).fault, base::Fault::kEmpty);
  EXPECT_EQ(rig.OutcomeOf(1).fault, base::Fault::kNotAnImage);
  EXPECT_EQ(rig.OutcomeOf(2).fault, base::Fault::kTruncated);
  EXPECT_EQ(rig.OutcomeOf(2).kind, OutcomeKind::kRefused);
  EXPECT_EQ(rig.OutcomeOf(3).kind, OutcomeKind::kDone);
  EXPECT_EQ(rig.Worker().restarts, 0u);
}

TEST(SupervisorTest, LimitsOfBytesAndPixelsHold) {
  MemoryDataset dataset({MakeJpeg(300, 200, 1), MakeJpeg(100, 100, 1)});
  const uint64_t bytes = dataset.file(0).size();
  Rig small(dataset, {.count = 1, .limits = {.max_bytes = bytes - 1}}, 2);
  Rig coarse(dataset, {.count = 1, .limits = {.max_pixels = 300 * 200 - 1}}, 2);

  small.Submit(0, 0);
  coarse.Submit(0, 0);
  ASSERT_TRUE(small.RunUntilOutcomes(1));
  ASSERT_TRUE(coarse.RunUntilOutcomes(1));

  EXPECT_EQ(small.OutcomeOf(0).fault, base::Fault::kTooManyBytes);
  EXPECT_EQ(coarse.OutcomeOf(0).fault, base::Fault::kTooManyPixels);
}

// The fullest recipe that fits, so that none of its steps is lost on the way.
TEST(SupervisorTest, ARecipeReachesTheWorkerWhole) {
  MemoryDataset dataset = SmallDataset();
  decode::Spec spec = {.height = 32, .width = 48};
  spec.recipe.count = augment::kMaxSteps;
  for (augment::Step& step : spec.recipe.steps) {
    step.op = augment::Op::kRotation;
    step.args[augment::RotationArgs::kDegreesMin] = -2;
    step.args[augment::RotationArgs::kDegreesMax] = 2;
  }
  spec.recipe.steps[augment::kMaxSteps - 1].op = augment::Op::kInvert;
  Rig rig(dataset, {.count = 1}, 10, spec);

  ASSERT_TRUE(rig.DecodeAll(10));

  for (uint64_t row = 0; row < 10; ++row) {
    WorkItem item = rig.Item(row, row);
    EXPECT_TRUE(std::ranges::equal(rig.Row(row), rig.Expected(item)));
    item.spec.recipe.count -= 1;
    EXPECT_FALSE(std::ranges::equal(rig.Row(row), rig.Expected(item)));
  }
}

TEST(SupervisorTest, AnImageOfUnfitSizeIsRefusedForItsSize) {
  MemoryDataset dataset({MakeJpeg(31, 64, 1), MakeJpeg(32, 32, 1)});
  decode::Spec spec = {.geometry = decode::Geometry::kWhole, .height = 32, .width = 32};
  augment::Step& crop = spec.recipe.steps[spec.recipe.count++];
  crop.op = augment::Op::kRandomCrop;
  crop.args[augment::CropArgs::kHeight] = crop.args[augment::CropArgs::kWidth] = 32;
  Rig rig(dataset, {.count = 1}, 2, spec);

  rig.Submit(0, 0);
  rig.Submit(1, 1);
  ASSERT_TRUE(rig.RunUntilOutcomes(2));

  EXPECT_EQ(rig.OutcomeOf(0).fault, base::Fault::kUnfitSize);
  EXPECT_EQ(rig.OutcomeOf(0).kind, OutcomeKind::kRefused);
  EXPECT_EQ(rig.OutcomeOf(1).kind, OutcomeKind::kDone);
}

// Workers do not retry reads: each failure is reported to the caller, who submits the row again.
TEST(SupervisorTest, EachReadThatFailsIsAnOutcomeAndTheRowComesWhenItIsSubmittedAgain) {
  MemoryDataset dataset = SmallDataset();
  dataset.failures = 5;
  Rig rig(dataset, {.count = 2}, 20);

  ASSERT_TRUE(rig.DecodeAll(20));

  const auto count = [&](OutcomeKind kind) {
    return std::ranges::count(rig.outcomes(), kind, &Outcome::kind);
  };
  EXPECT_EQ(count(OutcomeKind::kSourceFailed), 5);
  EXPECT_EQ(count(OutcomeKind::kDone), 20);
}

TEST(SupervisorTest, ASourceThatFailsForGoodSaysWhy) {
  MemoryDataset dataset = SmallDataset();
  dataset.failures = 1 << 30;
  Rig rig(dataset, {.count = 1}, 1);

  rig.Submit(0, 0);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));

  EXPECT_EQ(rig.OutcomeOf(0).kind, OutcomeKind::kSourceFailed);
  EXPECT_THAT(std::string(rig.OutcomeOf(0).status.message()), HasSubstr("the memory is away"));
}

class WorkerCountTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(WorkerCountTest, TheBytesAreTheDecodersWhateverTheCount) {
  constexpr uint64_t kRows = 60;
  MemoryDataset dataset = SmallDataset();
  Rig rig(dataset, {.count = GetParam()}, kRows);

  ASSERT_TRUE(rig.DecodeAll(kRows));

  for (uint64_t row = 0; row < kRows; ++row) {
    const auto expected = rig.Expected(rig.Item(row, row % dataset.samples()));
    ASSERT_TRUE(std::ranges::equal(rig.Row(row), expected)) << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, WorkerCountTest, ::testing::Values(1, 2, 4));

TEST(SupervisorTest, EachQueueHoldsFewItemsBeyondTheOneInHand) {
  MemoryDataset dataset = SmallDataset();
  Rig rig(dataset, {.count = 2, .read_ahead = 2, .ahead = milliseconds(0)}, 10);

  EXPECT_EQ(rig.Headroom(), 6u);
  for (uint64_t i = 0; i < 6; ++i) rig.Submit(i, i);
  EXPECT_EQ(rig.Headroom(), 0u);
  ASSERT_TRUE(rig.RunUntilOutcomes(6));

  EXPECT_EQ(rig.Headroom(), 6u);
}

TEST(SupervisorTest, AQueueHoldsMoreItemsIfTheyAreShort) {
  MemoryDataset dataset = SmallDataset();
  Rig rig(dataset, {.count = 2, .read_ahead = 2, .ahead = seconds(10)}, 40);
  EXPECT_EQ(rig.Headroom(), 6u);
  rig.Submit(0, 0);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));

  ASSERT_EQ(rig.Headroom(), 2 * kRingCapacity);
  for (uint64_t i = 0; i < 2 * kRingCapacity; ++i) rig.Submit(i, i % 10);
  EXPECT_EQ(rig.Headroom(), 0u);
  ASSERT_TRUE(rig.RunUntilOutcomes(1 + 2 * kRingCapacity));
}

TEST(SupervisorTest, SegmentsComeAndGo) {
  MemoryDataset dataset = SmallDataset(1);
  Rig rig(dataset, {.count = 1}, 1);
  const auto expected = rig.Expected(rig.Item(0, 0));
  for (uint32_t segment = 100; segment < 140; ++segment) {
    const posix::Fd memory = posix::MakeMemory("more", expected.size()).value();
    ASSERT_TRUE(rig.supervisor().AddSegment(segment, 0, memory, expected.size()).ok());
    WorkItem item = rig.Item(0, 0);
    item.segment = segment;

    rig.supervisor().Submit(item);
    ASSERT_TRUE(rig.RunUntilOutcomes(segment - 99));
    rig.supervisor().RemoveSegment(segment);

    const auto mapping = posix::Mapping::Map(memory, expected.size(), posix::Access::kReadOnly);
    ASSERT_TRUE(std::ranges::equal(mapping->bytes(), expected));
  }
  // A worker that kept the segments would run out of descriptors or show them in its maps.
  const auto count_maps = [&] {
    std::ifstream maps(absl::StrCat("/proc/", rig.Worker().pid, "/maps"));
    const std::string text((std::istreambuf_iterator<char>(maps)), {});
    size_t count = 0;
    for (size_t at = text.find("memfd:more"); at != std::string::npos;
         at = text.find("memfd:more", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_TRUE(rig.RunUntil([&] { return count_maps() == 0; }));
  EXPECT_EQ(rig.Worker().restarts, 0u);
}

TEST(SupervisorTest, AWorkerMayUseFarMoreSegmentsThanItMayHaveDescriptors) {
  constexpr uint32_t kFirst = 100, kSegments = 300;
  MemoryDataset dataset = SmallDataset(1);
  Rig rig(dataset, {.count = 1}, 1);
  const auto expected = rig.Expected(rig.Item(0, 0));
  std::vector<posix::Fd> memories;
  for (uint32_t i = 0; i < kSegments; ++i) {
    memories.push_back(posix::MakeMemory("many", expected.size()).value());
    ASSERT_TRUE(rig.supervisor().AddSegment(kFirst + i, 0, memories[i], expected.size()).ok());
  }
  const pid_t first = rig.Worker().pid;
  ::kill(first, SIGKILL);  // its replacement starts with all of them
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().pid != 0 && rig.Worker().pid != first; }));

  for (uint32_t i = 0; i < kSegments; ++i) {
    WorkItem item = rig.Item(0, 0);
    item.segment = kFirst + i;
    rig.supervisor().Submit(item);
    ASSERT_TRUE(rig.RunUntilOutcomes(i + 1));
    ASSERT_EQ(rig.outcomes().back().kind, OutcomeKind::kDone) << i;
  }

  EXPECT_EQ(rig.Worker().restarts, 1u);
  const auto last = posix::Mapping::Map(memories.back(), expected.size(), posix::Access::kReadOnly);
  EXPECT_TRUE(std::ranges::equal(last->bytes(), expected));
}

TEST(SupervisorTest, FewerWorkersFinishWhatTheyHaveAndMoreStartAtOnce) {
  MemoryDataset dataset = SmallDataset();
  Rig rig(dataset, {.count = 3}, 9);
  for (uint64_t i = 0; i < 9; ++i) rig.Submit(i, i);

  ASSERT_TRUE(rig.supervisor().SetCount(1).ok());
  EXPECT_EQ(rig.Headroom(), 0u);
  ASSERT_TRUE(rig.RunUntilOutcomes(9));
  EXPECT_TRUE(rig.RunUntil([&] { return rig.supervisor().View(base::Now()).size() == 1; }));

  for (const Outcome& each : rig.outcomes()) EXPECT_EQ(each.kind, OutcomeKind::kDone);
  ASSERT_TRUE(rig.supervisor().SetCount(2).ok());
  EXPECT_EQ(rig.supervisor().View(base::Now()).size(), 2u);
  EXPECT_EQ(rig.Headroom(), 6u);
}

TEST(SupervisorTest, AWorkerIsConfinedAndAloneInItsGroup) {
  MemoryDataset dataset = SmallDataset();
  Rig rig(dataset, {.count = 1, .user = 1234}, 1);
  rig.Submit(0, 0);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));
  const auto read = [&](const char* name) {
    std::ifstream file(absl::StrCat("/proc/", rig.Worker().pid, "/", name));
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };

  EXPECT_THAT(read("limits"), ::testing::ContainsRegex("Max core file size +0 +0"));
  EXPECT_THAT(read("limits"), ::testing::ContainsRegex("Max open files +64 +64"));
  EXPECT_THAT(read("status"), HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(read("cmdline"), HasSubstr("user=1234"));
  EXPECT_EQ(::getpgid(rig.Worker().pid), rig.Worker().pid);
}

TEST(SupervisorTest, AnIdleWorkerSleeps) {
  MemoryDataset dataset = SmallDataset();
  Rig rig(dataset, {.count = 1}, 1);
  rig.Submit(0, 0);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));
  const auto ticks = [&] {
    std::ifstream file(absl::StrCat("/proc/", rig.Worker().pid, "/stat"));
    std::vector<std::string> fields{std::istream_iterator<std::string>(file), {}};
    return std::stol(fields.at(13)) + std::stol(fields.at(14));
  };
  const long before = ticks();

  const base::TimePoint until = base::Now() + milliseconds(300);
  rig.RunUntil([&] { return base::Now() > until; });

  EXPECT_LE(ticks() - before, 2);  // of 10 ms
}

TEST(SupervisorTest, NothingIsLeftBehind) {
  MemoryDataset dataset = SmallDataset();
  const size_t before = OpenDescriptors();
  std::vector<pid_t> pids;
  {
    Rig rig(dataset, {.count = 3}, 30);
    ASSERT_TRUE(rig.DecodeAll(30));
    for (const WorkerView& each : rig.supervisor().View(base::Now())) pids.push_back(each.pid);
    rig.Submit(0, 0);  // one item in progress
  }

  EXPECT_EQ(OpenDescriptors(), before);
  for (const pid_t pid : pids) EXPECT_NE(::kill(pid, 0), 0);
}

TEST(WorkerProgramTest, StartedByHandItSaysWhoStartsIt) {
  posix::Child child = posix::Child::Spawn({DefaultProgram()}, {}).value();
  std::optional<posix::Exit> exit;
  for (int i = 0; i < 2000 && !exit; ++i) {
    ::usleep(5000);
    exit = child.Reap();
  }

  ASSERT_TRUE(exit.has_value());
  EXPECT_FALSE(exit->signalled);
  EXPECT_EQ(exit->code, 2);
}

}  // namespace
}  // namespace penstock::workers
