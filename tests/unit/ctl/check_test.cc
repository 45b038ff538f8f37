#include "client/ctl/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;

Facts GoodFacts() {
  Facts facts;
  facts.machine = {.affinity_cores = 16,
                   .quota_cores = {},
                   .available_bytes = uint64_t{64} << 30,
                   .cgroup_bytes = {}};
  facts.simd = "AVX2";
  facts.files_soft = 1024;
  facts.files_hard = 1'048'576;
  facts.socket_directory = "/run/penstock";
  facts.daemon = "/run/penstock/penstock.sock";
  facts.gpus = std::vector<cuda::Device>{{.ordinal = 0, .name = "NVIDIA H200"}};
  return facts;
}

Finding FindingOf(const Facts& facts, const std::string& what) {
  for (const Finding& finding : GradeFacts(facts)) {
    if (finding.what == what) return finding;
  }
  ADD_FAILURE() << "no finding about " << what;
  return {};
}

TEST(CheckTest, WhatKeepsTheMachineFromServingIsAProblemWithARemedy) {
  const auto grade = [](const std::string& what, const auto& spoil) {
    Facts facts = GoodFacts();
    spoil(facts);
    const Finding finding = FindingOf(facts, what);
    EXPECT_FALSE(finding.remedy.empty()) << what;
    return finding.grade;
  };
  const absl::Status no = absl::PermissionDeniedError("refused");

  EXPECT_EQ(grade("memory", [](Facts& f) { f.machine.cgroup_bytes = 64 << 20; }), Grade::kProblem);
  EXPECT_EQ(grade("shared memory", [&](Facts& f) { f.memfd = no; }), Grade::kProblem);
  EXPECT_EQ(grade("process watching", [&](Facts& f) { f.pidfd = no; }), Grade::kProblem);
  EXPECT_EQ(grade("open files", [](Facts& f) { f.files_hard = 100; }), Grade::kProblem);
  EXPECT_EQ(grade("socket directory", [&](Facts& f) { f.socket = no; }), Grade::kProblem);
  EXPECT_EQ(grade("configuration", [&](Facts& f) { f.config = {"a.yaml", no}; }), Grade::kProblem);
  EXPECT_EQ(grade("daemon", [&](Facts& f) { f.daemon = no; }), Grade::kProblem);
  EXPECT_EQ(grade("daemon", [](Facts& f) { f.serving = absl::UnavailableError("GPU lost"); }),
            Grade::kProblem);
}

TEST(CheckTest, WhatOnlyMakesItSlowerIsAWarning) {
  Facts facts = GoodFacts();
  facts.machine.quota_cores = 1.5;
  facts.machine.available_bytes = 512 << 20;
  facts.simd = "";
  facts.files_hard = 1024;
  facts.daemon = absl::NotFoundError("no daemon found");
  facts.datasets = {{"flowers", "/data", absl::PermissionDeniedError("/data: denied")}};

  for (const char* what :
       {"processor", "memory", "vector unit", "open files", "daemon", "dataset flowers"}) {
    EXPECT_EQ(FindingOf(facts, what).grade, Grade::kWarning) << what;
  }
  EXPECT_FALSE(HasProblem(GradeFacts(facts)));
}

TEST(CheckTest, WhyAGpuCannotBeUsedIsSaidAndTheMachineServesAllTheSame) {
  Facts none = GoodFacts(), alone = GoodFacts(), closed = GoodFacts();
  none.gpus = absl::FailedPreconditionError("the driver is too old: 470, wanted 525");
  alone.gpus->front().exclusive = true;
  closed.gpus->front().prohibited = true;

  EXPECT_THAT(FindingOf(none, "gpu").found, HasSubstr("too old"));
  EXPECT_THAT(FindingOf(alone, "gpu 0").found, HasSubstr("exclusive"));
  EXPECT_THAT(FindingOf(closed, "gpu 0").found, HasSubstr("prohibited"));
  for (const Facts& facts : {none, alone, closed}) EXPECT_FALSE(HasProblem(GradeFacts(facts)));
  EXPECT_THAT(FindingOf(alone, "gpu 0").remedy, HasSubstr("nvidia-smi"));
}

TEST(CheckTest, AGoodMachineHasNothingToDo) {
  const std::vector<Finding> findings = GradeFacts(GoodFacts());

  EXPECT_TRUE(std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.grade == Grade::kOk && finding.remedy.empty();
  }));
  EXPECT_THAT(Show(findings), HasSubstr("This machine can serve: 0 problems, 0 warnings."));
}

TEST(CheckTest, AKernelWithoutPeerPidfdsIsGoodEnough) {
  Facts facts = GoodFacts();
  facts.peer_pidfd = absl::UnimplementedError("before 6.5");

  EXPECT_EQ(FindingOf(facts, "process watching").grade, Grade::kOk);
}

TEST(CheckTest, SharedMemorySaysThatDevShmIsNotNeeded) {
  EXPECT_THAT(FindingOf(GoodFacts(), "shared memory").found, HasSubstr("/dev/shm is not needed"));
}

TEST(CheckTest, RemediesStandBelowTheTable) {
  Facts facts = GoodFacts();
  facts.memfd = absl::PermissionDeniedError("memfd_create: Operation not permitted");

  const std::string text = Show(GradeFacts(facts));

  EXPECT_THAT(text, HasSubstr("problem  shared memory     memfd_create: Operation not permitted"));
  EXPECT_THAT(text, HasSubstr("What to do\n  shared memory: allow memfd_create"));
  EXPECT_THAT(text, HasSubstr("This machine cannot serve: 1 problem, 0 warnings."));
}

TEST(CheckTest, JsonSaysTheSame) {
  const std::string json = Json(GradeFacts(GoodFacts()));

  EXPECT_THAT(json, HasSubstr("\"can_serve\": true"));
  EXPECT_THAT(json, HasSubstr("\"what\": \"memory\""));
}

TEST(CheckTest, ThisMachineIsLookedAtWithoutADaemon) {
  const Facts facts = GatherFacts("/nowhere/penstock.sock", "");

  EXPECT_GE(facts.machine.Cores(), 1u);
  EXPECT_GT(facts.machine.available_bytes, 0u);
  EXPECT_TRUE(facts.memfd.ok()) << facts.memfd;
  EXPECT_TRUE(facts.pidfd.ok()) << facts.pidfd;
  EXPECT_GT(facts.files_hard, 0u);
  EXPECT_TRUE(absl::IsNotFound(facts.daemon.status()));
}

TEST(CheckTest, AConfigurationThatDoesNotExistIsAProblem) {
  const Facts facts = GatherFacts("/nowhere/penstock.sock", "/nowhere/penstock.yaml");

  EXPECT_EQ(FindingOf(facts, "configuration").grade, Grade::kProblem);
}

}  // namespace
}  // namespace penstock::ctl
