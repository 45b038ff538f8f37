#include "server/export/handle_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock::exporting {
namespace {

using ::testing::HasSubstr;

constexpr ProcessName kDaemon = {.pid = 17, .pid_namespace = 100};

TEST(HandleChoiceTest, EqualPidsInDifferentNamespacesRuleOutIpc) {
  const HandleChoice choice =
      ChooseHandle(std::nullopt, {.pid = 17, .pid_namespace = 200}, kDaemon);

  EXPECT_EQ(choice.kind, cuda::HandleKind::kVmm);
  EXPECT_THAT(choice.reason, HasSubstr("both have PID 17"));
}

TEST(HandleChoiceTest, AnEqualPidInAnUnknownNamespaceRulesItOutToo) {
  EXPECT_EQ(ChooseHandle(std::nullopt, {.pid = 17}, kDaemon).kind, cuda::HandleKind::kVmm);
}

TEST(HandleChoiceTest, OtherwiseIpcIsTheDefault) {
  const ProcessName beside = {.pid = 18, .pid_namespace = 100};
  const ProcessName elsewhere = {.pid = 18, .pid_namespace = 200};

  EXPECT_EQ(ChooseHandle(std::nullopt, beside, kDaemon).kind, cuda::HandleKind::kIpc);
  EXPECT_EQ(ChooseHandle(std::nullopt, elsewhere, kDaemon).kind, cuda::HandleKind::kIpc);
  EXPECT_THAT(ChooseHandle(std::nullopt, beside, kDaemon).reason, HasSubstr("default"));
}

TEST(HandleChoiceTest, TheClientsRequestComesFirst) {
  const ProcessName beside = {.pid = 18, .pid_namespace = 100};
  const ProcessName twin = {.pid = 17, .pid_namespace = 200};

  EXPECT_EQ(ChooseHandle(cuda::HandleKind::kVmm, beside, kDaemon).kind, cuda::HandleKind::kVmm);
  EXPECT_EQ(ChooseHandle(cuda::HandleKind::kIpc, twin, kDaemon).kind, cuda::HandleKind::kIpc);
  EXPECT_THAT(ChooseHandle(cuda::HandleKind::kVmm, beside, kDaemon).reason, HasSubstr("asked"));
}

TEST(HandleChoiceTest, WeKnowOurOwnName) {
  EXPECT_EQ(OurName().pid, getpid());
  EXPECT_NE(OurName().pid_namespace, 0u);
}

}  // namespace
}  // namespace penstock::exporting
