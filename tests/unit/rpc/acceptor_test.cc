#include "server/rpc/acceptor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/posix/socket.h"

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
    auto acceptor = Acceptor::Start(*std::move(listener), 2, [this](posix::Fd connection) {
      base::MutexLock lock(mutex_);
      taken_.push_back(std::move(connection));
    });
    PENSTOCK_CHECK(acceptor.ok());
    acceptor_ = *std::move(acceptor);
  }
  ~AcceptorTest() override { std::filesystem::remove_all(directory_); }

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
  std::vector<posix::Fd> taken_ PENSTOCK_GUARDED_BY(mutex_);
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

TEST_F(AcceptorTest, AConnectionThatItsClientEndsMakesRoom) {
  posix::Fd first = Connect();
  const posix::Fd second = Connect();
  ASSERT_TRUE(WaitForConnections(2));

  first.Close();

  EXPECT_TRUE(WaitForConnections(1));
}

TEST_F(AcceptorTest, AConnectionThatItsTakerEndsMakesRoomAndIsSeenByTheClient) {
  const posix::Fd client = Connect();
  ASSERT_TRUE(WaitForConnections(1));

  {
    base::MutexLock lock(mutex_);
    ::shutdown(taken_.front().get(), SHUT_RDWR);
    taken_.clear();
  }

  EXPECT_TRUE(WaitForConnections(0));
  EXPECT_TRUE(IsClosed(client));
}

}  // namespace
}  // namespace penstock::rpc
