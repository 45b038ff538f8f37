// Indexers that hang: by themselves, before they run, and where no signal reaches them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "tests/system/indexer/indexers_rig.h"

namespace {

// The next child stops just before it would become its program.
std::atomic<bool> g_stop_before_program{false};
// SIGKILL has no effect, as on a process that waits for a file server.
std::atomic<bool> g_nobody_dies{false};

}  // namespace

// These take the place of the C library's functions in this test program.
extern "C" int execve(const char* path, char* const* argv, char* const* environment) {
  if (g_stop_before_program) ::syscall(SYS_kill, ::getpid(), SIGSTOP);
  return static_cast<int>(::syscall(SYS_execve, path, argv, environment));
}

extern "C" int kill(pid_t process, int signal) noexcept {
  if (signal == SIGKILL && g_nobody_dies) return 0;
  return static_cast<int>(::syscall(SYS_kill, process, signal));
}

namespace penstock::indexer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

class HangingCallsTest : public IndexersTest {
 protected:
  HangingCallsTest() { Use(impatient_); }
  ~HangingCallsTest() override { g_stop_before_program = g_nobody_dies = false; }

  void Use(const PatienceLimits& limits) {
    indexers_ = std::make_shared<Indexers>(
        Indexers::Options{.program = PENSTOCK_LYING_INDEXER, .patience = limits});
    parsers_ = indexers_->NewParsers();
  }
  // Expects that the call fails, that its process is gone, and that the next call succeeds.
  std::string Refusal(const std::string& name, absl::StatusCode code) {
    const absl::Status status = Key(name);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(Eventually([] { return ChildrenOf(::getpid()).empty(); })) << name;
    EXPECT_TRUE(Key("good").ok()) << name;
    return std::string(status.message());
  }

  const PatienceLimits impatient_ = {.start = seconds(10),
                                     .stopped = seconds(3),
                                     .storage = milliseconds(1500),
                                     .computing = milliseconds(100)};
};

TEST_F(HangingCallsTest, OneThatDoesNotRunIsKilledAndTheCallFailsInWords) {
  EXPECT_THAT(Refusal("hang", absl::StatusCode::kUnavailable),
              AllOf(HasSubstr("did not run for 3 s"), HasSubstr("'/data/hang'")));
}

TEST_F(HangingCallsTest, StorageThatDoesNotAnswerIsNamed) {
  EXPECT_THAT(Refusal("hang-reading", absl::StatusCode::kUnavailable),
              HasSubstr("the storage of '/data/hang-reading' has not answered a read for 1.5 s"));
}

TEST_F(HangingCallsTest, OneThatComputesWithoutReadingOnIsKilled) {
  for (const std::string name : {"spin", "read-the-same"})
    EXPECT_THAT(Refusal(name, absl::StatusCode::kDataLoss),
                AllOf(HasSubstr("used a core for"), HasSubstr("'/data/" + name + "'")));
}

TEST_F(HangingCallsTest, OneThatIsSlowButGetsOnIsNot) {
  const auto begun = steady_clock::now();
  EXPECT_TRUE(Key("slow").ok());
  EXPECT_GT(steady_clock::now() - begun, seconds(3));
}

TEST_F(HangingCallsTest, OneThatIsStoppedBeforeItRunsHoldsUpNobodyElseAndIsKilled) {
  Use({.start = seconds(5)});
  g_stop_before_program = true;
  auto stopped = std::async(std::launch::async, [&] { return Key("good"); });
  ASSERT_TRUE(Eventually([] {
    const auto children = ChildrenOf(::getpid());
    return children.size() == 1 && posix::StateOf(*children.begin()) == 'T';
  }));
  g_stop_before_program = false;

  EXPECT_TRUE(indexers_->NewParsers()->TarKey(File("good"), 0, 512).ok());
  EXPECT_EQ(stopped.wait_for(seconds(0)), std::future_status::timeout);
  const absl::Status status = stopped.get();

  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("was not ready within 5 s"), HasSubstr("'/data/good'")));
  EXPECT_TRUE(Key("good").ok());
}

// As in a read that a file server does not answer: the process ends only when the server does.
TEST_F(HangingCallsTest, OneThatCannotBeKilledDelaysNeitherItsCallNorTheNextNorTheEnd) {
  g_nobody_dies = true;
  const auto begun = steady_clock::now();
  EXPECT_TRUE(absl::IsUnavailable(Key("hang-reading")));
  EXPECT_LT(steady_clock::now() - begun, seconds(4));
  const std::set<pid_t> left = ChildrenOf(::getpid());
  EXPECT_EQ(left.size(), 1u);
  EXPECT_TRUE(Key("good").ok());

  const auto ending = steady_clock::now();
  parsers_.reset();
  indexers_.reset();
  EXPECT_LT(steady_clock::now() - ending, seconds(3));

  g_nobody_dies = false;
  for (const pid_t pid : ChildrenOf(::getpid())) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

TEST_F(HangingCallsTest, OneThatDiesLateIsReaped) {
  g_nobody_dies = true;
  EXPECT_FALSE(Key("hang-reading").ok());
  EXPECT_EQ(ChildrenOf(::getpid()).size(), 1u);
  for (const pid_t pid : ChildrenOf(::getpid())) ::syscall(SYS_kill, pid, SIGKILL);
  EXPECT_TRUE(Eventually([] { return ChildrenOf(::getpid()).empty(); }));
}

}  // namespace
}  // namespace penstock::indexer
