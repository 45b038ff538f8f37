// Indexers that lie, die, hang and lose their daemon.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "common/sandbox/sandbox.h"
#include "tests/system/indexer/indexers_rig.h"

namespace penstock::indexer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(IndexersTest, ALieIsAnErrorAndTheNextCallHasAnotherProcess) {
  for (const char* lie :
       {"long-piece", "endless-piece", "empty-piece", "unknown-tell", "found-too-many",
        "found-nothing", "short-message", "long-message", "wrong-number", "descriptors", "nothing",
        "unknown-outcome", "long-text", "less", "more"}) {
    const absl::Status status = Key(lie);
    EXPECT_TRUE(absl::IsInternal(status)) << lie << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("answered with")) << lie;
    EXPECT_EQ(parsers_->TarKey(File("good"), 0, 512).value(), "key") << lie;
  }
}

// Bytes of a file that is not there, or an error.
class SomeBytes final : public source::ByteSource {
 public:
  absl::Status Read(uint64_t, std::span<std::byte> into) const override {
    bytes += into.size();
    return status;
  }
  absl::Status status;
  mutable uint64_t bytes = 0;
};

TEST_F(IndexersTest, BytesOfARemoteFileAreSentWithinItAndNotForEver) {
  for (const char* lie : {"wants-none", "wants-too-many", "wants-outside", "wants-far-outside"}) {
    const SomeBytes remote;
    source::ForeignFile file = File(lie);
    EXPECT_TRUE(absl::IsInternal(parsers_->ScanTar(file, nullptr, {}, {}).status()))
        << lie << " of a file that was sent";
    file.remote = &remote;
    const absl::Status status = parsers_->ScanTar(file, nullptr, {}, {}).status();
    EXPECT_TRUE(absl::IsInternal(status)) << lie << ": " << status;
    EXPECT_EQ(remote.bytes, 0u) << lie;
  }
  const SomeBytes remote;
  source::ForeignFile file = File("wants-the-same");
  file.remote = &remote;
  const absl::Status status = parsers_->ScanTar(file, nullptr, {}, {}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("over and over")) << status;
  EXPECT_LE(remote.bytes, 16 * file.bytes + (64u << 20));
}

TEST_F(IndexersTest, PlacesInARemoteFileAreWithinItAndNoMoreThanItCanHave) {
  const SomeBytes remote;
  for (const char* lie :
       {"places-outside", "places-far-outside", "places-nothing", "places-for-ever"}) {
    source::ForeignFile file = File(lie);
    file.remote = &remote;
    uint64_t places = 0;
    const source::ScanWatch watch = {.piece = [&](const source::RemotePiece&) { ++places; }};
    const absl::Status status = parsers_->ScanTar(file, nullptr, {}, watch).status();
    EXPECT_TRUE(absl::IsInternal(status)) << lie << ": " << status;
    EXPECT_LE(places, file.bytes / 16) << lie;
    EXPECT_TRUE(absl::IsInternal(parsers_->ScanTar(file, nullptr, {}, {}).status()))
        << lie << " that nobody asked for";
  }
}

TEST_F(IndexersTest, TroubleWithARemoteFileIsTheCallsErrorAndTheNextCallHasAnotherProcess) {
  SomeBytes remote;
  remote.status = absl::DataLossError("another version");
  source::ForeignFile file = File("wants-the-same");
  file.remote = &remote;
  EXPECT_EQ(parsers_->ScanTar(file, nullptr, {}, {}).status(), remote.status);
  EXPECT_TRUE(Key("good").ok());
}

TEST_F(IndexersTest, AShardThatCannotBeIsRefused) {
  EXPECT_TRUE(parsers_->ScanTar(File("good"), nullptr, {}, {}).ok());
  EXPECT_TRUE(absl::IsInternal(parsers_->ScanTar(File("outside"), nullptr, {}, {}).status()));
}

// A hijacked indexer can claim as many samples as a sparse file could hold.
TEST_F(IndexersTest, AClaimOfManySamplesCostsNoMemory) {
  source::ForeignFile sparse = File("claims");
  sparse.bytes = uint64_t{1} << 50;
  const auto roles = source::RecordRoles::Of("", "");
  for (const absl::Status& status : {parsers_->ScanRecords(sparse, roles, {}).status(),
                                     parsers_->ScanTar(sparse, nullptr, {}, {}).status()}) {
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("less than it promised"));
  }
}

TEST_F(IndexersTest, WhatAnIndexerSaysIsEscaped) {
  EXPECT_EQ(Key("rude-text"), absl::InvalidArgumentError("\\x1b[2J\\xff\\n"));
}

TEST_F(IndexersTest, ADeathIsAnErrorThatNamesTheSignalAndTheFile) {
  EXPECT_THAT(std::string(Key("abort").message()),
              AllOf(HasSubstr("signal 6 (SIGABRT)"), HasSubstr("'/data/abort'")));
  EXPECT_THAT(std::string(Key("segv").message()), HasSubstr("signal 11 (SIGSEGV)"));
  EXPECT_THAT(std::string(Key("exit").message()), HasSubstr("exit code 7"));
  EXPECT_TRUE(absl::IsDataLoss(Key("abort")));
  EXPECT_TRUE(absl::IsResourceExhausted(Key("no-memory")));
  EXPECT_TRUE(absl::IsFailedPrecondition(Key("not-ready")));
  EXPECT_TRUE(Key("good").ok());
}

TEST_F(IndexersTest, WhatItWroteBeforeItDiedIsOneFieldOfTheLog) {
  if (sandbox::kIsInstrumented) GTEST_SKIP() << "sanitizers report on standard error";
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(absl::IsDataLoss(Key("talks")));
  const std::string log = ::testing::internal::GetCapturedStderr();

  EXPECT_THAT(log, HasSubstr("event=indexer_last_words"));
  EXPECT_THAT(log, HasSubstr("\"level=error event=forged?[1m|level=error event=forged?[1m|"));
  EXPECT_THAT(log, Not(HasSubstr("\nlevel=error")));
  EXPECT_LT(log.size(), 2048u);
}

TEST_F(IndexersTest, AForbiddenCallIsASecurityEvent) {
  ::testing::internal::CaptureStderr();
  const absl::Status status = Key("forbidden");
  const std::string log = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(indexers_->forbidden_calls(), 1u);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("signal 31 (SIGSYS)"), HasSubstr("made to do harm")));
  EXPECT_THAT(log, AllOf(HasSubstr("level=error event=forbidden_call"), HasSubstr("signal=31"),
                         HasSubstr("/data/forbidden")));
}

TEST_F(IndexersTest, AForbiddenCallAfterTheAnswerIsASecurityEventToo) {
  EXPECT_TRUE(Key("good").ok());
  const auto idle = ChildrenOf(::getpid());
  ASSERT_EQ(idle.size(), 1u);
  ::testing::internal::CaptureStderr();
  ::kill(*idle.begin(), SIGSYS);

  EXPECT_TRUE(Eventually([&] { return indexers_->forbidden_calls() == 1; }));

  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("level=error event=forbidden_call"), HasSubstr("/data/good")));
  EXPECT_TRUE(Key("good").ok());
}

TEST_F(IndexersTest, OneThatIsKilledWhileItReadsIsAnErrorOfThatCallAlone) {
  std::thread killer([] {
    ASSERT_TRUE(Eventually([] { return !ChildrenOf(::getpid()).empty(); }));
    std::this_thread::sleep_for(milliseconds(50));
    for (const pid_t pid : ChildrenOf(::getpid())) ::kill(pid, SIGKILL);
  });
  const absl::Status status = Key("hang");
  killer.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("signal 9 (SIGKILL)"), HasSubstr("'/data/hang'")));
  EXPECT_TRUE(Key("good").ok());
}

TEST_F(IndexersTest, ACancelledCallEndsItsProcessAndReturns) {
  for (const char* what : {"hang", "spin"}) {
    std::atomic<bool> cancelled{false};
    std::thread canceller([&] {
      std::this_thread::sleep_for(milliseconds(100));
      cancelled = true;
    });
    const source::ScanWatch watch = {.cancelled = [&] { return cancelled.load(); }};
    EXPECT_TRUE(absl::IsCancelled(parsers_->ScanTar(File(what), nullptr, {}, watch).status()));
    canceller.join();
    EXPECT_TRUE(Eventually([] { return ChildrenOf(::getpid()).empty(); })) << what;
  }
}

TEST_F(IndexersTest, ClosingCancelsWhatIsUnderWayAndAllThatComes) {
  std::thread closer([&] {
    std::this_thread::sleep_for(milliseconds(100));
    indexers_->Close();
  });
  EXPECT_TRUE(absl::IsCancelled(Key("hang")));
  closer.join();
  EXPECT_TRUE(absl::IsCancelled(Key("good")));
}

TEST_F(IndexersTest, CallsAtTheSameTimeHaveProcessesOfTheirOwnAndTwoDatasetsShareNone) {
  const auto other = indexers_->NewParsers();
  std::atomic<bool> cancelled{false};
  const source::ScanWatch watch = {.cancelled = [&] { return cancelled.load(); }};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] { (void)parsers_->ScanTar(File("hang"), nullptr, {}, watch); });
  EXPECT_TRUE(Eventually([] { return ChildrenOf(::getpid()).size() == 3; }));
  EXPECT_TRUE(Key("good").ok());
  EXPECT_EQ(ChildrenOf(::getpid()).size(), 4u);
  EXPECT_TRUE(Key("good").ok());  // by the same one
  EXPECT_EQ(ChildrenOf(::getpid()).size(), 4u);
  EXPECT_TRUE(other->TarKey(File("good"), 0, 512).ok());
  EXPECT_EQ(ChildrenOf(::getpid()).size(), 5u);
  cancelled = true;
  for (std::thread& thread : threads) thread.join();
}

// Calls of `parsers`, from several threads. Returns the most processes that there were at once.
size_t ProcessesForCalls(source::Parsers& parsers, const source::ForeignFile& file, int threads) {
  std::atomic<size_t> most{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i)
    callers.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        EXPECT_TRUE(parsers.TarKey(file, 0, 512).ok());
        const size_t now = ChildrenOf(::getpid()).size();
        if (now > most) most = now;
      }
    });
  for (std::thread& caller : callers) caller.join();
  return most;
}

TEST_F(IndexersTest, QuickCallsWaitForEachOtherAndStartNoProcess) {
  const auto slow_to_grow = std::make_shared<Indexers>(Indexers::Options{
      .program = PENSTOCK_LYING_INDEXER, .cores = 8, .grow_after = std::chrono::hours(1)});
  EXPECT_EQ(ProcessesForCalls(*slow_to_grow->NewParsers(), File("good"), 6), 1u);
}

TEST_F(IndexersTest, TheyGrowToOneForEachCoreAndFurtherOnlyIfCallsWaitForLong) {
  const auto two =
      std::make_shared<Indexers>(Indexers::Options{.program = PENSTOCK_LYING_INDEXER,
                                                   .cores = 2,
                                                   .grow_after = milliseconds(0),
                                                   .grow_beyond_after = std::chrono::hours(1)});
  const auto parsers = two->NewParsers();
  std::atomic<bool> cancelled{false};
  const source::ScanWatch watch = {.cancelled = [&] { return cancelled.load(); }};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { (void)parsers->ScanTar(File("hang"), nullptr, {}, watch); });
  EXPECT_TRUE(Eventually([] { return ChildrenOf(::getpid()).size() == 2; }));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(ChildrenOf(::getpid()).size(), 2u);
  EXPECT_TRUE(two->NewParsers()->TarKey(File("good"), 0, 512).ok());  // others need not wait
  cancelled = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(IndexersTest, ThereAreNeverMoreThanTheLimitAndIdleOnesMakeRoom) {
  const auto few =
      std::make_shared<Indexers>(Indexers::Options{.program = PENSTOCK_LYING_INDEXER, .most = 2});
  std::vector<std::shared_ptr<source::Parsers>> datasets;
  for (int i = 0; i < 5; ++i) {
    datasets.push_back(few->NewParsers());
    EXPECT_TRUE(datasets.back()->TarKey(File("good"), 0, 512).ok());
    EXPECT_LE(ChildrenOf(::getpid()).size(), 2u);
  }
}

TEST_F(IndexersTest, OneThatIsNotUsedAnyMoreEnds) {
  const auto brief = std::make_shared<Indexers>(
      Indexers::Options{.program = PENSTOCK_LYING_INDEXER, .keep = milliseconds(100)});
  const auto parsers = brief->NewParsers();
  EXPECT_TRUE(parsers->TarKey(File("good"), 0, 512).ok());
  EXPECT_TRUE(Eventually([] { return ChildrenOf(::getpid()).empty(); }));
  EXPECT_TRUE(parsers->TarKey(File("good"), 0, 512).ok());
}

TEST_F(IndexersTest, AProgramThatIsNotThereIsAnErrorWithItsPath) {
  const auto none = std::make_shared<Indexers>(Indexers::Options{.program = "/nowhere/indexer"});
  const absl::Status status = none->NewParsers()->TarKey(File("good"), 0, 512).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/indexer"));
}

// Ends without any destructor, while one of its indexers hangs and one computes.
[[noreturn]] void BeADaemonThatIsKilled(const std::string& file, int report) {
  const posix::Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const auto indexers =
      std::make_shared<Indexers>(Indexers::Options{.program = PENSTOCK_LYING_INDEXER});
  const auto parsers = indexers->NewParsers();
  for (const char* what : {"/hang", "/spin"})
    std::thread([&, what] {
      (void)parsers->TarKey({.fd = opened, .path = what, .bytes = 4096}, 0, 512);
    }).detach();
  Eventually([] { return ChildrenOf(::getpid()).size() == 2; });
  for (const pid_t pid : ChildrenOf(::getpid()))
    if (::write(report, &pid, sizeof pid) != sizeof pid) ::_exit(1);
  for (;;) ::pause();
}

TEST_F(IndexersTest, AKilledDaemonLeavesNoOrphan) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t daemon = ::fork();
  if (daemon == 0) BeADaemonThatIsKilled(folder_.At("file"), ends[1]);
  pid_t children[2] = {};
  for (pid_t& child : children)
    ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::kill(daemon, SIGKILL);
  ::waitpid(daemon, nullptr, 0);
  for (const pid_t child : children) {
    // Somebody else's to reap: gone, or a zombie.
    EXPECT_TRUE(Eventually([&] {
      std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
      std::stringstream text;
      text << stat.rdbuf();
      return text.str().empty() || text.str().find(") Z ") != std::string::npos;
    }));
  }
}

}  // namespace
}  // namespace penstock::indexer
