// A session whose control page the test writes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <memory>

#include "client/src/session/session_core.h"
#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {

inline constexpr std::chrono::milliseconds kNow{0};

class SessionCoreTest : public ::testing::Test {
 protected:
  SessionCore Open(const SessionCore::Begin& begin = {}) {
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach().value(), begin);
  }

  bool WasNotified() {
    pollfd entry{.fd = daemon_.event().get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1;
  }

  // Announces batch 1 after `change` made its entry invalid. Returns the status of Next.
  template <typename Change>
  Status NextAfter(Change change) {
    shm::ControlEntry entry = daemon_.Entry(1);
    change(entry);
    daemon_.Announce(entry);
    SessionCore session = Open();
    return session.Next(kNow).status();
  }

  FakeDaemon daemon_, second_;
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = {}};
};

}  // namespace penstock::client
