#include "server/rpc/transport/acceptor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/posix/socket.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::rpc {
namespace {

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    char name[] = "/tmp/penstock-acceptor-XXXXXX";
    PENSTOCK_CHECK(::mkdtemp(name) != nullptr);
    directory_ = name;
    path_ = directory_ + "/socket";
    auto listener = posix::Listen(path_, posix::SocketKind::kStream);
    PENSTOCK_CHECK(listener.ok());
    listener_ = *std::move(listener);
    Begin({.connections = 2});
  }
  ~AcceptorTest() override { std::filesystem::remove_all(directory_); }

  void Begin(const Acceptor::Limits& limits) {
    acceptor_.reset();
    auto acceptor =
        Acceptor::Start(*listener_.Duplicate(), limits,
                        [this](posix::ForeignFd connection, const posix::Credentials& peer,
                               std::shared_ptr<const void> place) {
                          base::MutexLock lock(mutex_);
                          taken_.push_back({std::move(connection), peer.uid, std::move(place)});
                        });
    PENSTOCK_CHECK(acceptor.ok());
    acceptor_ = *std::move(acceptor);
  }
  void EndFirst() {
    base::MutexLock lock(mutex_);
    taken_.erase(taken_.begin());
  }

  posix::Fd Connect() { return *posix::Connect(path_, posix::SocketKind::kStream); }

  bool WaitForConnections(uint32_t count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < deadline) {
      if (acceptor_->connections() == count) return true;
      ::poll(nullptr, 0, 1);
    }
    return false;
  }

  static bool IsClosed(const posix::Fd& socket) {
    pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 5000) == 1 && (entry.revents & POLLHUP) != 0;
  }

  std::string directory_;
  std::string path_;
  base::Mutex mutex_;
  struct Taken {
    posix::ForeignFd connection;
    uid_t user = 0;
    std::shared_ptr<const void> place;
  };
  std::vector<Taken> taken_ PENSTOCK_GUARDED_BY(mutex_);
  posix::Fd listener_;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, MoreConnectionsThanAllowedAreClosed) {
  const posix::Fd first = Connect();
  const posix::Fd second = Connect();
  ASSERT_TRUE(WaitForConnections(2));

  const posix::Fd third = Connect();

  EXPECT_TRUE(IsClosed(third));
  EXPECT_EQ(acceptor_->connections(), 2u);
}

TEST_F(AcceptorTest, OneUserLeavesPlacesForOthersAndTheOwnerHasAll) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be somebody else";
  ::chmod(directory_.c_str(), 0755);
  ::chmod(path_.c_str(), 0777);
  std::vector<posix::Fd> of_nobody;
  {
    const penstock::testing::WithoutPrivileges nobody;
    of_nobody.push_back(Connect());
    ASSERT_TRUE(WaitForConnections(1));

    EXPECT_TRUE(IsClosed(Connect()));
  }

  const posix::Fd of_the_owner = Connect();
  EXPECT_TRUE(WaitForConnections(2));

  EndFirst();
  EXPECT_TRUE(WaitForConnections(1));
  const penstock::testing::WithoutPrivileges nobody;
  const posix::Fd again = Connect();
  EXPECT_TRUE(WaitForConnections(2));
}

TEST_F(AcceptorTest, APlaceThatIsGivenBackIsFree) {
  const posix::Fd first = Connect();
  const posix::Fd second = Connect();
  ASSERT_TRUE(WaitForConnections(2));

  EndFirst();

  EXPECT_TRUE(WaitForConnections(1));
  EXPECT_TRUE(IsClosed(first));
}

TEST_F(AcceptorTest, APlaceMayOutliveTheAcceptor) {
  const posix::Fd first = Connect();
  ASSERT_TRUE(WaitForConnections(1));

  acceptor_.reset();

  EndFirst();
}

TEST_F(AcceptorTest, TheLastDescriptorsAreForTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be somebody else";
  Begin({.connections = 8, .kept = 0, .descriptors = 3});  // all of them already in use
  ::chmod(directory_.c_str(), 0755);
  ::chmod(path_.c_str(), 0777);
  {
    const penstock::testing::WithoutPrivileges nobody;
    EXPECT_TRUE(IsClosed(Connect()));
  }

  const posix::Fd of_the_owner = Connect();

  EXPECT_TRUE(WaitForConnections(1));
}

}  // namespace
}  // namespace penstock::rpc
