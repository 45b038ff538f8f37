#include "client/src/connection/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "common/base/check.h"
#include "common/posix/socket.h"

namespace penstock::client {
namespace {

using ::testing::HasSubstr;

std::string Words(const absl::Status& status) { return std::string(status.message()); }

class AddressTest : public ::testing::Test {
 protected:
  AddressTest() {
    char name[] = "/tmp/penstock-address-XXXXXX";
    PENSTOCK_CHECK(::mkdtemp(name) != nullptr);
    root_ = name;
    around_ = {.penstock_address = "",
               .system_directory = root_ + "/run",
               .xdg_runtime_dir = root_ + "/login",
               .temporary_directory = root_ + "/tmp",
               .user = ::geteuid()};
    for (const char* directory : {"/run", "/login", "/tmp"}) MakeDirectory(root_ + directory);
  }
  ~AddressTest() override { std::filesystem::remove_all(root_); }

  static void MakeDirectory(const std::string& path) {
    PENSTOCK_CHECK(::mkdir(path.c_str(), 0700) == 0);
  }

  // Starts to listen in a new directory, like a daemon. Returns the path of the socket.
  std::string Daemon(const std::string& directory) {
    MakeDirectory(directory);
    const std::string path = directory + "/penstock.sock";
    auto listener = posix::Listen(path, posix::SocketKind::kStream);
    PENSTOCK_CHECK(listener.ok());
    listeners_.push_back(*std::move(listener));
    return path;
  }
  std::string OurTemporary() const { return absl::StrCat(root_, "/tmp/penstock-", ::geteuid()); }

  std::string root_;
  Surroundings around_;
  std::vector<posix::Fd> listeners_;
};

// Stands for a daemon's socket for operators. A real one sends gRPC's settings to operators at
// once, and hangs up on others; this one sends `greeting`.
class OperatorsDoor {
 public:
  OperatorsDoor(const std::string& folder, const std::string& greeting) {
    PENSTOCK_CHECK(::mkdir(folder.c_str(), 0700) == 0);
    listener_ = *posix::Listen(folder + "/admin.sock", posix::SocketKind::kStream);
    thread_ = std::thread([this, greeting] {
      pollfd poll = {.fd = listener_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&poll, 1, 5000) != 1) return;
      auto socket = posix::Accept(listener_);
      PENSTOCK_CHECK(socket.ok() && *socket != nullptr);
      (void)!::write((*socket)->get(), greeting.data(), greeting.size());
    });
  }
  ~OperatorsDoor() { thread_.join(); }

 private:
  posix::Fd listener_;
  std::thread thread_;
};

TEST_F(AddressTest, AnOperatorFindsTheOperatorsSocketBesideTheTrainers) {
  const std::string trainers = Daemon(root_ + "/own");
  OperatorsDoor door(root_ + "/own-admin", "hello");

  EXPECT_EQ(*FindDaemonToOperate(trainers, around_), root_ + "/own-admin/admin.sock");
}

TEST_F(AddressTest, AnOperatorFindsTheOperatorsSocketOfTheSystem) {
  Daemon(root_ + "/run/penstock");
  OperatorsDoor door(root_ + "/run/penstock-admin", "hello");

  EXPECT_EQ(*FindDaemonToOperate("", around_), root_ + "/run/penstock-admin/admin.sock");
}

TEST_F(AddressTest, WhoIsNotLetInThereCallsWhereTrainersDo) {
  const std::string trainers = Daemon(root_ + "/own");
  OperatorsDoor door(root_ + "/own-admin", "");

  EXPECT_EQ(*FindDaemonToOperate(trainers, around_), trainers);
}

TEST_F(AddressTest, APrivateDaemonIsOperatedAtItsOneSocket) {
  const std::string path = Daemon(root_ + "/own");

  EXPECT_EQ(*FindDaemonToOperate(path, around_), path);
}

TEST_F(AddressTest, NoDaemonAnywhereSaysEachPlaceAndWhyNot) {
  around_.xdg_runtime_dir = "";
  MakeDirectory(root_ + "/run/penstock");
  // A killed daemon leaves a socket on which nobody listens.
  posix::Listen(root_ + "/run/penstock/penstock.sock", posix::SocketKind::kStream)->Close();

  const auto found = FindDaemon("", around_);

  EXPECT_TRUE(absl::IsNotFound(found.status()));
  EXPECT_THAT(Words(found.status()), HasSubstr("$PENSTOCK_ADDRESS (not set)"));
  EXPECT_THAT(Words(found.status()),
              HasSubstr("/run/penstock/penstock.sock (nobody listens there)"));
  EXPECT_THAT(Words(found.status()), HasSubstr("$XDG_RUNTIME_DIR (not set)"));
  EXPECT_THAT(Words(found.status()), HasSubstr("penstock.sock (no such directory)"));
  EXPECT_THAT(Words(found.status()), HasSubstr("start penstockd"));
}

TEST_F(AddressTest, ADirectoryInTmpWithAnotherModeIsRefused) {
  Daemon(OurTemporary());
  ASSERT_EQ(::chmod(OurTemporary().c_str(), 0755), 0);

  const auto found = FindDaemon("", around_);

  EXPECT_TRUE(absl::IsPermissionDenied(found.status()));
  EXPECT_THAT(Words(found.status()), HasSubstr("mode 0755"));
}

TEST_F(AddressTest, ADirectoryInTmpOfSomebodyElseIsRefused) {
  around_.user = ::geteuid() + 1;
  Daemon(absl::StrCat(root_, "/tmp/penstock-", around_.user));

  const auto found = FindDaemon("", around_);

  EXPECT_TRUE(absl::IsPermissionDenied(found.status()));
  EXPECT_THAT(Words(found.status()), HasSubstr("is not a directory of user"));
}

TEST_F(AddressTest, ALinkInTmpToADirectoryOfOursIsRefused) {
  Daemon(root_ + "/elsewhere");
  ASSERT_EQ(::symlink((root_ + "/elsewhere").c_str(), OurTemporary().c_str()), 0);

  EXPECT_TRUE(absl::IsPermissionDenied(FindDaemon("", around_).status()));
}

TEST_F(AddressTest, AGivenAddressIsTheOnlyPlace) {
  Daemon(root_ + "/run/penstock");

  const auto found = FindDaemon(root_ + "/nowhere.sock", around_);

  EXPECT_TRUE(absl::IsNotFound(found.status()));
  EXPECT_THAT(Words(found.status()), HasSubstr("/nowhere.sock yet (the address given)"));
}

TEST_F(AddressTest, AFileThatIsNoSocketIsNoDaemonThatWillCome) {
  const absl::Status found = FindDaemon("/etc/passwd", around_).status();

  EXPECT_EQ(found.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Words(found), HasSubstr("this is not a socket"));
}

TEST_F(AddressTest, ARelativeAddressIsWrong) {
  around_.penstock_address = "penstock.sock";

  EXPECT_TRUE(absl::IsInvalidArgument(FindDaemon("", around_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(FindDaemon("unix:", around_).status()));
}

TEST_F(AddressTest, TheArgumentGoesBeforeTheVariable) {
  const std::string argument = Daemon(root_ + "/a");
  around_.penstock_address = Daemon(root_ + "/b");

  EXPECT_EQ(*FindDaemon("unix:" + argument, around_), argument);
  EXPECT_EQ(*FindDaemon("", around_), around_.penstock_address);
}

TEST_F(AddressTest, TheFirstDaemonThatAnswersIsFound) {
  const std::string of_user = Daemon(OurTemporary());
  EXPECT_EQ(*FindDaemon("", around_), of_user);

  const std::string of_login = Daemon(root_ + "/login/penstock");
  EXPECT_EQ(*FindDaemon("", around_), of_login);

  const std::string of_system = Daemon(root_ + "/run/penstock");
  EXPECT_EQ(*FindDaemon("", around_), of_system);
}

}  // namespace
}  // namespace penstock::client
