// Tests the operators' socket, and how the log and metrics record refusals and operators' actions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "tests/support/programs/http_get.h"
#include "tests/system/access/node.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSetWorkers[] = "penstock.v1.AdminService.SetWorkers";

#define SKIP_UNLESS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user"

unsigned ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

TEST(OperatorsTest, TheirSocketIsOutsideOfTheTrainersFolderAndClosedToOthers) {
  SKIP_UNLESS_ROOT();
  Node node({.with_admins = false});

  EXPECT_EQ(FolderOf(node.admin_address()), FolderOf(node.address()) + "-admin");
  EXPECT_EQ(ModeOf(node.admin_address()), 0600u);
  EXPECT_EQ(ModeOf(FolderOf(node.admin_address())), 0700u);
  CallerProcess outsider(node.admin_address(), "", kOutsider);
  EXPECT_EQ(outsider.Call("penstock.v1.AdminService.GetStatus", "{}").code, 14);
}

TEST(OperatorsTest, PenstockctlFindsItsSocketAndOthersAreToldOfIt) {
  SKIP_UNLESS_ROOT();
  Node node({});
  const std::vector<std::string> set = {"--address", node.address(), "workers", "--set", "1"};

  const Ended by_root = RunProgram("penstockctl", set);
  const Ended by_admin = RunProgram("penstockctl", set, kAdmin);
  const Ended by_member = RunProgram("penstockctl", set, kMember);
  const Ended seen =
      RunProgram("penstockctl", {"--address", node.address(), "datasets"}, kOutsider);

  EXPECT_EQ(by_root.exit_code, 0) << by_root.output;
  EXPECT_EQ(by_admin.exit_code, 0) << by_admin.output;
  EXPECT_EQ(by_member.exit_code, 1);
  EXPECT_THAT(by_member.output, AllOf(HasSubstr("for operators"), HasSubstr(node.admin_address()),
                                      HasSubstr("server.admins")));
  EXPECT_EQ(seen.exit_code, 0) << seen.output;
  EXPECT_THAT(seen.output, AllOf(HasSubstr("flowers"), Not(HasSubstr("secret-set"))));
}

TEST(OperatorsTest, WhoeverIsNoneIsToldForWhomTheirSocketIs) {
  SKIP_UNLESS_ROOT();
  Node node({});

  const Ended status =
      RunProgram("penstockctl", {"--address", node.admin_address(), "status"}, kOutsider);
  const Ended reload =
      RunProgram("penstockd", {"--reload", node.daemon().config_path()}, kOutsider);

  for (const Ended& ended : {status, reload}) {
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_THAT(ended.output, AllOf(HasSubstr("hung up on user " + std::to_string(kOutsiderUser)),
                                    HasSubstr("server.admins"), HasSubstr(node.admin_address())));
    EXPECT_THAT(ended.output, Not(HasSubstr("still runs")));
  }
}

TEST(OperatorsTest, RefusalsAndActionsAreLoggedWithTheirActorAndCounted) {
  SKIP_UNLESS_ROOT();
  const uint16_t port = FreePort();
  Node node({.metrics_address = "127.0.0.1:" + std::to_string(port)});
  auto outsider = node.Trainer(kOutsider);
  CallerProcess admin(node.admin_address(), "", kAdmin);

  outsider->Call(kSetWorkers, R"({"count":7})");
  outsider->Call("penstock.v1.FeedService.DescribeDataset", R"({"dataset":"secret-set"})");
  admin.Call(kSetWorkers, R"({"count":1})");
  CallerProcess stranger(node.admin_address(), "", kOutsider);
  stranger.Call(kSetWorkers, "{}");

  const std::string who = "user=" + std::to_string(kOutsiderUser) +
                          " pid=" + std::to_string(outsider->pid()) + " method=";
  EXPECT_THAT(
      node.daemon().log(),
      AllOf(HasSubstr("event=refused " + who +
                      "AdminService.SetWorkers workers=7 reason=not_operator"),
            HasSubstr("event=refused " + who +
                      "FeedService.DescribeDataset dataset=secret-set reason=not_in_group"),
            HasSubstr("is not in the groups of dataset 'secret-set'"),
            HasSubstr("event=operator_action user=" + std::to_string(kAdminUser) +
                      " pid=" + std::to_string(admin.pid()) +
                      " method=AdminService.SetWorkers workers=1 result=ok"),
            HasSubstr("method=connect what=\"the operators' socket\" reason=not_operator")));
  const std::string page = Scrape(port);
  EXPECT_EQ(ValueOf(page,
                    "penstock_refusals_total{method=\"AdminService.SetWorkers\",reason=\"not_"
                    "operator\"}"),
            1);
  EXPECT_EQ(ValueOf(page,
                    "penstock_refusals_total{method=\"FeedService.DescribeDataset\",reason="
                    "\"not_in_group\"}"),
            1);
  EXPECT_EQ(ValueOf(page, "penstock_operator_actions_total{method=\"AdminService.SetWorkers\"}"),
            1);
}

// Covers every reason for a refusal and every operator action.
TEST(OperatorsTest, EachReasonForARefusalAndEachActionOfAnOperatorIsInTheLogAndCounted) {
  SKIP_UNLESS_ROOT();
  const uint16_t port = FreePort();
  Node node({.metrics_address = "127.0.0.1:" + std::to_string(port)});
  auto outsider = node.Trainer(kOutsider), member = node.Trainer(kMember);
  CallerProcess no_ticket(node.address(), "", kOutsider);
  CallerProcess admin(node.admin_address(), "", kAdmin);
  const auto opened = member->Call("penstock.v1.FeedService.OpenSession", OpenJson("secret-set"));
  const size_t at = opened.text.find("session_id\":\"") + 13;
  const std::string session =
      R"({"session_id":")" + opened.text.substr(at, opened.text.find('"', at) - at) + R"("})";
  const std::string report = session.substr(0, session.size() - 1) + R"(,"samples":["0"]})";
  const std::string secret = R"({"dataset":"secret-set"})", flowers = R"({"dataset":"flowers"})";
  std::string too_much = OpenJson("flowers");
  for (size_t at; (at = too_much.find(":32")) != std::string::npos;)
    too_much.replace(at, 3, ":8192");  // a batch larger than the pool
  struct Refused {
    CallerProcess* by;
    std::string method, json, reason;
  };
  const std::vector<Refused> refused = {
      {outsider.get(), "AdminService.SetWorkers", R"({"count":7})", "not_operator"},
      {outsider.get(), "AdminService.Drain", "{}", "not_operator"},
      {outsider.get(), "AdminService.Reload", "{}", "not_operator"},
      {outsider.get(), "AdminService.ClearQuarantine", secret, "not_operator"},
      {outsider.get(), "FeedService.DescribeDataset", secret, "not_in_group"},
      {outsider.get(), "FeedService.OpenSession", OpenJson("secret-set"), "not_in_group"},
      {outsider.get(), "AdminService.IndexDataset", secret, "not_in_group"},
      {outsider.get(), "AdminService.DigestDataset", secret, "not_in_group"},
      {outsider.get(), "AdminService.ListQuarantine", secret, "not_in_group"},
      {outsider.get(), "FeedService.GetProgress", session, "not_owner"},
      {outsider.get(), "FeedService.ListSlabs", session, "not_owner"},
      {outsider.get(), "FeedService.ReportUndecodable", report, "not_owner"},
      {outsider.get(), "FeedService.CloseSession", session, "not_owner"},
      {outsider.get(), "FeedService.OpenSession", too_much, "limit"},
      {&no_ticket, "FeedService.DescribeDataset", flowers, "no_ticket"}};
  const std::vector<std::pair<std::string, std::string>> actions = {
      {"IndexDataset", flowers},
      {"DigestDataset", flowers},
      {"ClearQuarantine", flowers},
      {"SetWorkers", R"({"count":1})"},
      {"Drain", R"({"cancel":true})"},
      {"Reload", "{}"},
      {"GetTrace", R"({"duration_ms":100})"}};

  for (const Refused& each : refused) {
    each.by->Call("penstock.v1." + each.method, each.json);
    usleep(110'000);  // the log takes ten lines a second per user
  }
  for (const auto& [method, json] : actions)
    EXPECT_EQ(admin.Call("penstock.v1.AdminService." + method, json).code, 0) << method;

  const std::string log = node.daemon().log(), page = Scrape(port);
  for (const Refused& each : refused) {
    EXPECT_EQ(ValueOf(page, "penstock_refusals_total{method=\"" + each.method + "\",reason=\"" +
                                each.reason + "\"}"),
              1)
        << each.method << " " << each.reason;
    EXPECT_THAT(log, ContainsRegex("event=refused user=" + std::to_string(kOutsiderUser) +
                                   " pid=" + std::to_string(each.by->pid()) +
                                   " method=" + each.method + " [^\n]*reason=" + each.reason));
  }
  for (const auto& [method, json] : actions) {
    EXPECT_EQ(
        ValueOf(page, "penstock_operator_actions_total{method=\"AdminService." + method + "\"}"),
        1);
    EXPECT_THAT(
        log, HasSubstr("event=operator_action user=" + std::to_string(kAdminUser) +
                       " pid=" + std::to_string(admin.pid()) + " method=AdminService." + method));
  }
}

TEST(OperatorsTest, AFloodOfRefusalsDoesNotFloodTheLogAndHidesNobodyElses) {
  SKIP_UNLESS_ROOT();
  Node node({});
  auto flood = node.Trainer(kOutsider);
  auto other = node.Trainer({.user = 54332, .groups = {kSocketGroup}});

  const base::TimePoint begin = base::Now();
  for (int i = 0; i < 300; ++i) flood->Call(kSetWorkers, "{}");
  other->Call(kSetWorkers, "{}");
  sleep(1);
  flood->Call(kSetWorkers, "{}");

  const std::string log = node.daemon().log();
  int lines = 0;
  for (size_t at = 0; (at = log.find("event=refused", at)) != std::string::npos; ++at) ++lines;
  // The limit is ten lines a second per user. The last of these lines and those of the other user
  // may come up to a second later.
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(base::Now() - begin).count();
  EXPECT_LE(lines, 10 * (seconds + 1) + 2);
  EXPECT_LT(lines, 300);
  EXPECT_THAT(log, HasSubstr("suppressed="));
  EXPECT_THAT(log, HasSubstr("event=refused user=54332"));
}

}  // namespace
}  // namespace penstock::testing
