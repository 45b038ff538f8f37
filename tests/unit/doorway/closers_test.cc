#include "server/doorway/closers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <utility>
#include <vector>

namespace penstock::doorway {
namespace {

constexpr uint32_t kUser = 1000;

TEST(ClosersTest, WhatTheyCloseIsClosedAndTheUserMaySendMore) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const posix::Fd reader(ends[0]);
  Closers closers;
  for (int i = 0; i < 20; ++i) {
    std::vector<posix::Fd> files;
    files.emplace_back(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
    closers.Close(kUser, std::move(files));
    while (!closers.MayReceive(kUser)) ::usleep(1000);
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);  // end of file: every writer is closed
}

TEST(ClosersTest, AUserWhoseFilesDoNotCloseMaySendNoMoreUntilTheyDo) {
  std::promise<void> answered;
  const std::shared_future<void> server = answered.get_future().share();
  Closers closers([server](const Closers::Files&) { server.wait(); });

  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(closers.MayReceive(kUser));
    closers.Close(kUser, {});
  }
  EXPECT_FALSE(closers.MayReceive(kUser));
  EXPECT_TRUE(closers.MayReceive(kUser + 1));

  answered.set_value();
  while (!closers.MayReceive(kUser)) ::usleep(1000);
}

}  // namespace
}  // namespace penstock::doorway
