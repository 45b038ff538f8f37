#include "common/posix/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace penstock::posix {
namespace {

using ::testing::HasSubstr;

Child Start(const std::vector<std::string>& argv, const std::vector<Child::Inherited>& fds = {}) {
  auto child = Child::Spawn(argv, fds);
  EXPECT_TRUE(child.ok()) << child.status();
  return std::move(child).value();
}

bool GoneWithin(const Fd& pidfd, int timeout_ms) {
  pollfd entry{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

std::set<int> OpenDescriptors(pid_t pid) {
  std::set<int> numbers;
  const auto folder = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    numbers.insert(std::stoi(entry.path().filename()));
  }
  return numbers;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ChildTest, AProgramThatDoesNotExistIsNamed) {
  const auto child = Child::Spawn({"/nonexistent/program"}, {});

  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(child.status().message()), HasSubstr("/nonexistent/program"));
}

TEST(ChildTest, OfTheEnvironmentAChildMayGetOnlyOurOwnVariables) {
  ::setenv("AWS_SECRET", "hidden", 1);
  ::setenv("LD_PRELOAD_NOT", "hidden", 1);
  ::setenv("PENSTOCK_SEEN", "1", 1);
  const auto environment = [](Child::Environment which) {
    const auto child =
        Child::Spawn({"/bin/sleep", "600"}, {}, Child::Wait::kForProgram, which).value();
    return Contents("/proc/" + std::to_string(child.pid()) + "/environ");
  };
  EXPECT_THAT(environment(Child::Environment::kAll), HasSubstr("AWS_SECRET=hidden"));
  const std::string own = environment(Child::Environment::kOwn);
  EXPECT_THAT(own, HasSubstr("PENSTOCK_SEEN=1"));
  EXPECT_EQ(own.find("hidden"), std::string::npos) << own;
  for (const char* name : {"AWS_SECRET", "LD_PRELOAD_NOT", "PENSTOCK_SEEN"}) ::unsetenv(name);
}

TEST(ChildTest, AProgramThatNobodyWaitedForCanBeKilledBeforeItRuns) {
  for (int i = 0; i < 20; ++i)  // each destructor waits for its process
    EXPECT_TRUE(Child::Spawn({"/bin/sleep", "600"}, {}, Child::Wait::kForNothing).ok());
}

TEST(ChildTest, AProgramThatNobodyWaitedForExitsWith127AndSaysWhy) {
  auto child = Child::Spawn({"/nonexistent/program"}, {}, Child::Wait::kForNothing);
  ASSERT_TRUE(child.ok()) << child.status();

  std::optional<Exit> exit;
  while (!(exit = child->Reap())) std::this_thread::yield();

  EXPECT_FALSE(exit->signalled);
  EXPECT_EQ(exit->code, 127);
  EXPECT_EQ(child->StartError(), ENOENT);
}

TEST(ChildTest, WithoutAStandardInputOfOursItHasOne) {
  const Fd ours(::fcntl(0, F_DUPFD_CLOEXEC, 100));
  ASSERT_TRUE(ours.valid());
  ::close(0);

  const Child child = Start({"/bin/sleep", "60"});

  ::dup2(ours.get(), 0);
  const auto folder = "/proc/" + std::to_string(child.pid()) + "/fd/";
  EXPECT_EQ(std::filesystem::read_symlink(folder + "0"), "/dev/null");
  EXPECT_EQ(std::filesystem::read_symlink(folder + "1"), "/dev/null");
}

TEST(ChildTest, DescriptorNumbersThatCannotBeAreRefused) {
  EXPECT_EQ(Child::Spawn({}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Child::Spawn({"/bin/true"}, {{0, 1}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Child::Spawn({"/bin/true"}, {{0, 5}, {1, 5}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ChildTest, ItsStandardErrorCanBeAnother) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]);
  {
    const Fd writing(ends[1]);
    auto child = Child::Spawn({"/bin/sh", "-c", "echo words >&2"}, {{writing.get(), 2}});
    ASSERT_TRUE(child.ok()) << child.status();
    while (!child->Reap()) std::this_thread::yield();
  }
  char text[16] = {};

  EXPECT_EQ(::read(reading.get(), text, sizeof(text)), 6);
  EXPECT_STREQ(text, "words\n");
}

TEST(ChildTest, ItGetsItsDescriptorsAndNoOthers) {
  const Fd secret(::open("/dev/null", O_RDONLY));  // without close-on-exec
  const Fd high(::fcntl(secret.get(), F_DUPFD, 500));
  const Fd given(::open("/dev/zero", O_RDONLY | O_CLOEXEC));

  const Child child = Start({"/bin/sleep", "60"}, {{given.get(), 9}, {given.get(), 3}});

  const std::set<int> expected = {0, 1, 2, 3, 9};
  std::set<int> open = OpenDescriptors(child.pid());
  // While a program loads, it has libraries open.
  for (int i = 0; i < 500 && open != expected; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    open = OpenDescriptors(child.pid());
  }
  EXPECT_EQ(open, expected);
  const auto folder = "/proc/" + std::to_string(child.pid()) + "/fd/";
  EXPECT_EQ(std::filesystem::read_symlink(folder + "9"), "/dev/zero");
  EXPECT_EQ(std::filesystem::read_symlink(folder + "1"), "/dev/null");
}

TEST(ChildTest, DescriptorsThatSwapTheirNumbersArriveRight) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const Child child =
      Start({"/bin/sleep", "60"}, {{null.get(), zero.get()}, {zero.get(), null.get()}});

  const auto folder = "/proc/" + std::to_string(child.pid()) + "/fd/";
  EXPECT_EQ(std::filesystem::read_symlink(folder + std::to_string(zero.get())), "/dev/null");
  EXPECT_EQ(std::filesystem::read_symlink(folder + std::to_string(null.get())), "/dev/zero");
}

TEST(ChildTest, ItsSignalsAreAtTheirDefaultsAndItDumpsNoCore) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);

  const Child child = Start({"/bin/sleep", "60"});

  ::sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  ::signal(SIGPIPE, before);
  const auto folder = "/proc/" + std::to_string(child.pid());
  EXPECT_THAT(Contents(folder + "/status"), HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(Contents(folder + "/status"), HasSubstr("SigIgn:\t0000000000000000"));
  EXPECT_THAT(Contents(folder + "/limits"),
              ::testing::ContainsRegex("Max core file size +0 +0 +bytes"));
}

TEST(ChildTest, ItLeadsAProcessGroupOfItsOwn) {
  const Child child = Start({"/bin/sleep", "60"});

  EXPECT_EQ(::getpgid(child.pid()), child.pid());
  EXPECT_NE(::getpgid(child.pid()), ::getpgid(0));
}

TEST(ChildTest, ALivingChildIsNotReapedAndADeadOneOnce) {
  Child child = Start({"/bin/sh", "-c", "exit 7"});
  ASSERT_TRUE(GoneWithin(child.pidfd(), 10'000));

  const std::optional<Exit> exit = child.Reap();

  ASSERT_TRUE(exit.has_value());
  EXPECT_FALSE(exit->signalled);
  EXPECT_EQ(exit->code, 7);
  EXPECT_FALSE(child.Reap().has_value());
  Child living = Start({"/bin/sleep", "60"});
  EXPECT_FALSE(living.Reap().has_value());
  EXPECT_FALSE(IsGone(living.pidfd()));
}

TEST(KillBehindTest, ItKillsTheProcessBehindAPidfdAndDoesNothingToOneThatIsGone) {
  Child child = Start({"/bin/sleep", "60"});

  KillBehind(child.pidfd());

  ASSERT_TRUE(GoneWithin(child.pidfd(), 10'000));
  EXPECT_EQ(child.Reap()->code, SIGKILL);
  KillBehind(child.pidfd());
}

TEST(ChildTest, AKilledChildReportsItsSignal) {
  Child child = Start({"/bin/sleep", "60"});

  child.Kill();

  ASSERT_TRUE(GoneWithin(child.pidfd(), 10'000));
  const std::optional<Exit> exit = child.Reap();
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->signalled);
  EXPECT_EQ(exit->code, SIGKILL);
}

TEST(ChildTest, ItsEndKillsTheWholeGroupAndReaps) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  pid_t pid;
  {
    // A grandchild holds the pipe, so end of file shows that it is gone too.
    const Child child = Start({"/bin/sh", "-c", "sleep 60 & wait"}, {{writing.get(), 3}});
    pid = child.pid();
    writing.Close();
  }

  pollfd entry{.fd = reading.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&entry, 1, 10'000), 1);
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ChildTest, ItDiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Child child = Start({"/bin/sleep", "60"});
    const pid_t pid = child.pid();
    if (::write(writing.get(), &pid, sizeof(pid)) != sizeof(pid)) ::_exit(1);
    ::pause();
    ::_exit(1);
  }
  writing.Close();
  pid_t grandchild = 0;
  ASSERT_EQ(::read(reading.get(), &grandchild, sizeof(grandchild)), ssize_t{sizeof(grandchild)});
  const auto pidfd = OpenPidfd(grandchild);
  ASSERT_TRUE(pidfd.ok()) << pidfd.status();
  ASSERT_FALSE(IsGone(*pidfd));

  ::kill(parent, SIGKILL);

  EXPECT_TRUE(GoneWithin(*pidfd, 10'000));
  ::waitpid(parent, nullptr, 0);
}

TEST(PidfdTest, AProcessThatIsNotThereIsNotFound) {
  EXPECT_EQ(OpenPidfd(0x3FFFFFFF).status().code(), absl::StatusCode::kNotFound);
}

TEST(PidfdTest, ItBecomesGoneWhenItsProcessDies) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto pidfd = OpenPidfd(pid);
  ASSERT_TRUE(pidfd.ok());
  EXPECT_FALSE(IsGone(*pidfd));

  ::kill(pid, SIGKILL);
  EXPECT_TRUE(GoneWithin(*pidfd, 10'000));
  EXPECT_TRUE(IsGone(*pidfd));
  ::waitpid(pid, nullptr, 0);

  EXPECT_TRUE(IsGone(*pidfd));
  EXPECT_TRUE(IsPidfd(*pidfd));
}

TEST(PidfdTest, OtherDescriptorsAreNotPidfds) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]), writing(ends[1]);
  const auto own = OpenPidfd(::getpid());
  ASSERT_TRUE(own.ok());

  EXPECT_TRUE(IsPidfd(*own));
  EXPECT_FALSE(IsPidfd(reading));
  EXPECT_FALSE(IsPidfd(Fd()));
}

}  // namespace
}  // namespace penstock::posix
