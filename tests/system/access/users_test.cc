// What each user has in use, and that a trace is of one's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/trainer_process.h"
#include "tests/system/access/node.h"

namespace penstock::testing {
namespace {

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

}  // namespace
}  // namespace penstock::testing
