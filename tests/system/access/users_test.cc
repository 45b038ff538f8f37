// Tests each user's reported usage, and that a trace shows only the caller's own events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "penstock/v1/admin.pb.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/trainer_process.h"
#include "tests/system/access/node.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(UsersTest, ATraceShowsAnOperatorEverythingAndOthersTheirOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Node node({});
  TrainerProcess member(node.address(), "secret-set", "flood", kMember);
  auto outsider = node.Trainer(kOutsider);
  auto same_user = node.Trainer(kMember);
  CallerProcess root(node.admin_address(), "", kRoot);
  const std::string half_a_second = R"({"duration_ms":500})";

  const auto of_outsider = outsider->Call("penstock.v1.AdminService.GetTrace", half_a_second);
  const auto of_member = same_user->Call("penstock.v1.AdminService.GetTrace", half_a_second);
  const auto of_root = root.Call("penstock.v1.AdminService.GetTrace", half_a_second);

  EXPECT_EQ(of_outsider.code, 0);
  EXPECT_THAT(of_outsider.text, Not(HasSubstr("secret-set")));
  EXPECT_THAT(of_outsider.text, Not(HasSubstr("\"ph\":\"X\"")));
  EXPECT_THAT(of_member.text, HasSubstr("secret-set"));
  EXPECT_THAT(of_root.text, HasSubstr("secret-set"));
}

// Equal requests of two users get separate feeds.
TEST(UsersTest, TwoUsersOnEqualFeedsAreTwoRowsAndEachHasItsUsage) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const uint16_t port = FreePort();
  Node node({.metrics_address = "127.0.0.1:" + std::to_string(port)});
  TrainerProcess one(node.address(), "flowers", "hold", kMember);
  TrainerProcess two(node.address(), "flowers", "hold", kOutsider);

  ASSERT_TRUE(node.daemon().Eventually([&] {  // polled ten times a second
    const v1::GetStatusResponse look = node.daemon().Status();
    return look.users_size() == 2 && look.users(0).worker_cpu_seconds() > 0 &&
           look.users(1).worker_cpu_seconds() > 0;
  }));

  const v1::GetStatusResponse status = node.daemon().Status();

  ASSERT_EQ(status.feeds_size(), 2);
  EXPECT_EQ(status.feeds(0).fingerprint(), status.feeds(1).fingerprint());
  EXPECT_THAT((std::set<uint32_t>{status.feeds(0).user_id(), status.feeds(1).user_id()}),
              ElementsAre(kMemberUser, kOutsiderUser));
  ASSERT_EQ(status.users_size(), 2);
  uint64_t bytes = 0;
  for (const v1::UserStatus& user : status.users()) {
    EXPECT_EQ(user.sessions(), 1u);
    EXPECT_GE(user.samples_decoded(), 12u);
    EXPECT_GE(user.batches_announced(), 2u);
    EXPECT_GT(user.pool_reserved_bytes(), 0u);
    EXPECT_GT(user.decode_seconds(), 0);
    EXPECT_GT(user.worker_cpu_seconds(), 0);
    EXPECT_GT(user.pool_bytes(), 0u);
    EXPECT_LE(user.workers(), 1u);  // there is one worker slot; the worker without it may sleep
    bytes += user.pool_bytes();
  }
  EXPECT_LE(bytes, status.pool().segment_bytes());  // the canary also takes pool memory
  for (const v1::FeedStatus& feed : status.feeds()) {
    EXPECT_EQ(feed.sessions(), 1u);
    EXPECT_GE(feed.samples_decoded(), 12u);
    EXPECT_LT(feed.samples_decoded(), status.samples_decoded());
  }
  const std::string page = Scrape(port), of_one = "{user=\"" + std::to_string(kMemberUser) + "\"}";
  EXPECT_EQ(ValueOf(page, "penstock_user_sessions" + of_one), 1);
  EXPECT_GE(ValueOf(page, "penstock_user_samples_decoded_total" + of_one), 12);
  EXPECT_GT(ValueOf(page, "penstock_user_pool_bytes" + of_one), 0);
  EXPECT_GT(ValueOf(page, "penstock_user_worker_cpu_seconds_total" + of_one), 0);
  EXPECT_GE(ValueOf(page, "penstock_user_workers" + of_one), 0);
  EXPECT_THAT(node.daemon().Ctl({"status"}).output, HasSubstr("POOL RESERVED  WORKERS"));
  const std::string json = node.daemon().Ctl({"-o", "json", "status"}).output;
  for (const char* key : {"sessions", "pool_bytes", "samples_decoded", "worker_cpu_seconds"})
    EXPECT_THAT(json.substr(json.find("\"users\"")), HasSubstr(std::string("\"") + key + "\":"));
}

TEST(UsersTest, AUserSeesItsOwnUsageAndSessionsAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Node node({});
  TrainerProcess one(node.address(), "flowers", "hold", kMember);
  TrainerProcess two(node.address(), "flowers", "hold", kOutsider);
  auto outsider = node.Trainer(kOutsider);
  const std::string theirs = "\"user_id\":" + std::to_string(kMemberUser);
  const std::string own = "\"user_id\":" + std::to_string(kOutsiderUser);

  for (const char* method : {"GetStatus", "ListSessions", "WatchStatus"}) {
    const auto seen = outsider->Call(std::string("penstock.v1.AdminService.") + method, "{}");
    EXPECT_THAT(seen.text, HasSubstr(own)) << method;
    EXPECT_THAT(seen.text, Not(HasSubstr(theirs))) << method;
  }
}

}  // namespace
}  // namespace penstock::testing
