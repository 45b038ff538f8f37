// A host's side of its page. The test process is the host; its workers are forked for real.
#include "client/src/maker/host.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/posix/process.h"
#include "tests/unit/maker/maker_daemon.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Code = absl::StatusCode;

class HostTest : public ::testing::Test {
 protected:
  HostTest() {
    page_.magic = shm::kPythonHostMagic;
    page_.version = shm::kPythonHostVersion;
    page_.capacity = shm::kMaxPythonWorkers;
  }

  // Another process stands for the trainer, so that it can end.
  HostOptions Options() {
    trainer_ = doorway::Fork([] { return ::pause(); });  // before it could inherit the socket
    int life[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life), 0);
    trainers_end_ = posix::Fd(life[0]);
    return {.address = daemon_.address(),
            .token = Token(),
            .client = "a-test 1.0",
            .trainer = posix::OpenPidfd(trainer_).value(),
            .life = posix::Fd(life[1]),
            .timeout = kPatience};
  }
  absl::StatusOr<std::unique_ptr<MakerHost>> TryEnter() {
    auto entering = std::async(std::launch::async, [this] { return MakerHost::Enter(Options()); });
    peer_ = daemon_.AwaitArrival();
    EXPECT_TRUE(
        daemon_.Send(peer_.id, shm::DoorwayKind::kHostPage, sizeof(page_), lent_.fds()).ok());
    return entering.get();
  }
  void Enter() {
    auto host = TryEnter();
    ASSERT_TRUE(host.ok()) << host.status();
    host_ = *std::move(host);
  }
  void TearDown() override {
    host_.reset();
    if (trainer_ > 0) EndTrainer();
  }
  void EndTrainer() {
    ::kill(trainer_, SIGKILL);
    doorway::WaitForExit(std::exchange(trainer_, 0));
  }

  void Want(uint32_t place, uint32_t starts) {
    page_.places[place].wanted_starts = starts;
    posix::Notify(lent_.to_maker.sender);
  }
  pid_t ForkAt(PlaceStart at, const std::function<int()>& body) {
    const pid_t pid = doorway::Fork(body);
    const absl::Status noted = host_->NoteForked(at, pid);
    EXPECT_TRUE(noted.ok()) << noted;
    return pid;
  }
  // Lets the host work until this start has ended.
  void AwaitEnd(uint32_t place, uint32_t start) {
    const base::TimePoint deadline = Soon();
    while (page_.places[place].ended != start && base::Now() < deadline) {
      (void)host_->Next(base::Now() + std::chrono::milliseconds(5));
    }
    ASSERT_EQ(page_.places[place].ended, start);
  }

  MakerDaemon daemon_;
  Lent lent_{sizeof(shm::PythonHostPage)};
  shm::PythonHostPage& page_ = lent_.As<shm::PythonHostPage>();
  doorway::Peer peer_;
  posix::Fd trainers_end_;
  pid_t trainer_ = 0;
  std::unique_ptr<MakerHost> host_;
};

int Sleep() { return ::pause(); }

TEST_F(HostTest, ItEntersWithItsTokenAndName) {
  Enter();

  EXPECT_EQ(peer_.role, doorway::Role::kHost);
  EXPECT_EQ(peer_.maker.token, Token());
  EXPECT_EQ(peer_.client, "a-test 1.0");
  EXPECT_THAT(host_->Next(kNow).value(), IsEmpty());
}

TEST_F(HostTest, ItSaysWhatTheDaemonWantsForkedAndNotesIt) {
  Enter();
  auto next = std::async(std::launch::async, [this] { return host_->Next(Soon()); });
  page_.places[200].wanted_starts = 1;
  Want(3, 1);
  (void)next.get();  // woken by the event

  EXPECT_THAT(host_->Next(kNow).value(), ElementsAre(PlaceStart{3, 1}, PlaceStart{200, 1}));
  const pid_t pid = ForkAt({3, 1}, Sleep);

  EXPECT_EQ(page_.places[3].starts, 1u);
  EXPECT_EQ(page_.places[3].pid, pid);
  EXPECT_EQ(::getpgid(pid), pid);
  EXPECT_EQ(posix::Drain(lent_.to_daemon), 1u);
  EXPECT_THAT(host_->Next(kNow).value(), ElementsAre(PlaceStart{200, 1}));
  EXPECT_EQ(host_->NoteForked({3, 1}, pid).code(), Code::kInvalidArgument);
}

TEST_F(HostTest, AWorkersEndIsReportedWithItsStatusAndLastWords) {
  Enter();
  Want(3, 1);
  ASSERT_EQ(host_->Next(Soon())->size(), 1u);
  const int words = host_->MakeWords(3).value();
  ForkAt({3, 1}, [words] { return ::write(words, "fatal error", 11) == 11 ? 7 : 1; });
  posix::Drain(lent_.to_daemon);

  AwaitEnd(3, 1);

  EXPECT_EQ(WEXITSTATUS(page_.places[3].exit_status), 7);
  EXPECT_STREQ(page_.places[3].words, "fatal error");
  EXPECT_EQ(posix::Drain(lent_.to_daemon), 1u);
  EXPECT_EQ(host_->workers(), 0u);
}

TEST_F(HostTest, WordsThatAreTooLongAreCutOffAndThoseOfTheLastStartAreGone) {
  Enter();
  Want(3, 1);
  ASSERT_EQ(host_->Next(Soon())->size(), 1u);
  const int words = host_->MakeWords(3).value();
  const std::string many(5000, 'x');
  ForkAt({3, 1}, [&] { return ::write(words, many.data(), many.size()) > 0 ? 0 : 1; });
  AwaitEnd(3, 1);
  EXPECT_EQ(std::string(page_.places[3].words), std::string(511, 'x'));

  Want(3, 2);
  ASSERT_THAT(host_->Next(Soon()).value(), ElementsAre(PlaceStart{3, 2}));
  ForkAt({3, 2}, [] { return 0; });
  AwaitEnd(3, 2);

  EXPECT_STREQ(page_.places[3].words, "");
}

TEST_F(HostTest, APlaceHasOneWorkerAtATime) {
  Enter();
  Want(3, 1);
  ASSERT_EQ(host_->Next(Soon())->size(), 1u);
  const pid_t first = ForkAt({3, 1}, Sleep);
  Want(3, 2);
  EXPECT_THAT(host_->Next(kNow).value(), IsEmpty());

  ::kill(first, SIGKILL);
  const auto wanted = host_->Next(Soon());

  EXPECT_THAT(*wanted, ElementsAre(PlaceStart{3, 2}));
  EXPECT_EQ(WTERMSIG(page_.places[3].exit_status), SIGKILL);
}

TEST_F(HostTest, TheDaemonKillsAStartAndNotTheNextOne) {
  Enter();
  page_.places[3].kill = 2;
  Want(3, 1);
  ASSERT_EQ(host_->Next(Soon())->size(), 1u);
  const pid_t first = ForkAt({3, 1}, Sleep);
  EXPECT_THAT(host_->Next(kNow).value(), IsEmpty());
  EXPECT_FALSE(posix::IsGone(*posix::OpenPidfd(first)));

  page_.places[3].kill = 1;
  AwaitEnd(3, 1);

  EXPECT_EQ(WTERMSIG(page_.places[3].exit_status), SIGKILL);
}

TEST_F(HostTest, WhatAWorkerStartedEndsWithIt) {
  Enter();
  Want(3, 1);
  ASSERT_EQ(host_->Next(Soon())->size(), 1u);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t worker = ForkAt({3, 1}, [&] {
    ::setpgid(0, 0);
    doorway::Fork([&] {
      (void)!::write(ends[1], "r", 1);
      return Sleep();
    });
    return Sleep();
  });
  ::close(ends[1]);
  char byte;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);

  ::kill(worker, SIGKILL);  // the worker alone
  AwaitEnd(3, 1);

  EXPECT_TRUE(ClosesSoon(ends[0]));
  ::close(ends[0]);
}

TEST_F(HostTest, ItEndsWhenTheTrainerClosesTheLifeSocket) {
  Enter();
  Want(3, 1);
  ASSERT_EQ(::write(trainers_end_.get(), "x", 1), 1);
  EXPECT_TRUE(host_->Next(Soon()).ok());  // what it sends means nothing

  trainers_end_.Close();

  EXPECT_EQ(host_->Next(Soon()).status().code(), Code::kCancelled);  // although a worker is wanted
  EXPECT_EQ(host_->Next(Soon()).status().code(), Code::kCancelled);
}

TEST_F(HostTest, ItEndsWhenTheTrainerShutsItsEndDownAlthoughOthersHaveIt) {
  Enter();
  const pid_t other = doorway::Fork([] { return ::pause(); });  // inherits the trainer's end

  ASSERT_EQ(::shutdown(trainers_end_.get(), SHUT_RDWR), 0);

  EXPECT_EQ(host_->Next(Soon()).status().code(), Code::kCancelled);
  ::kill(other, SIGKILL);
  doorway::WaitForExit(other);
}

TEST_F(HostTest, ItEndsWithTheTrainer) {
  Enter();

  EndTrainer();

  EXPECT_THAT(host_->Next(Soon()).status().message(), HasSubstr("the trainer has ended"));
}

TEST_F(HostTest, ItEndsWithTheDaemon) {
  Enter();

  daemon_.Close();

  EXPECT_EQ(host_->Next(Soon()).status().code(), Code::kUnavailable);
}

TEST_F(HostTest, AMessageAtTheDoorwayIsNotExpected) {
  Enter();

  ASSERT_TRUE(daemon_.Send(peer_.id, shm::DoorwayKind::kHostPage, 0, {}).ok());

  EXPECT_THAT(host_->Next(Soon()).status().message(), HasSubstr("32 bytes, expected none"));
}

TEST_F(HostTest, APageOfAnotherVersionIsRefused) {
  page_.version = 2;

  EXPECT_EQ(TryEnter().status().code(), Code::kFailedPrecondition);
}

TEST_F(HostTest, WhatTheDaemonWritesOverTheHostsOwnFieldsChangesNothing) {
  Enter();
  page_.places[3].starts = UINT32_MAX;
  page_.places[4].starts = 17;

  Want(4, UINT32_MAX);

  EXPECT_THAT(host_->Next(Soon()).value(), ElementsAre(PlaceStart{4, 1}));
}

TEST_F(HostTest, ItNeedsAPidfdAndALifeSocket) {
  HostOptions no_pidfd = Options();
  no_pidfd.trainer = posix::MakeEvent().value();
  EXPECT_EQ(MakerHost::Enter(std::move(no_pidfd)).status().code(), Code::kInvalidArgument);
  EndTrainer();
  HostOptions no_life = Options();
  no_life.life.Close();
  EXPECT_EQ(MakerHost::Enter(std::move(no_life)).status().code(), Code::kInvalidArgument);
}

TEST_F(HostTest, WhyItCannotGoOnIsOnThePage) {
  Enter();

  host_->Fail("fork: out of memory" + std::string(5000, '!'));

  EXPECT_EQ(page_.failed, 1u);
  EXPECT_THAT(std::string(page_.error), HasSubstr("fork: out of memory!"));
  EXPECT_EQ(std::string(page_.error).size(), sizeof(page_.error) - 1);
  EXPECT_EQ(posix::Drain(lent_.to_daemon), 1u);
}

TEST_F(HostTest, ItsDestructorKillsItsWorkersButNotInAForkedChild) {
  Enter();
  Want(3, 1);
  ASSERT_EQ(host_->Next(Soon())->size(), 1u);
  const pid_t pid = ForkAt({3, 1}, Sleep);
  const posix::Fd pidfd = *posix::OpenPidfd(pid);

  EXPECT_EQ(doorway::WaitForExit(doorway::Fork([this] {
              host_.reset();
              return 0;
            })),
            0);
  EXPECT_FALSE(posix::IsGone(pidfd));
  host_.reset();

  EXPECT_TRUE(posix::IsGone(pidfd));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);  // reaped
}

}  // namespace
}  // namespace penstock::client
