#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "client/ctl/check/finding.h"
#include "client/ctl/check_views.h"

namespace penstock::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kGib = uint64_t{1} << 30;

ProcessFacts GoodProcess(pid_t pid) {
  ProcessFacts process;
  process.pid = pid;
  process.machine = {
      .affinity_cores = 16, .quota_cores = {}, .available_bytes = 64 * kGib, .cgroup_bytes = {}};
  process.machine.cgroups = posix::Cgroups::kV2;
  process.identity = Identity{.user = 999, .group = 999, .groups = {}};
  process.files = Limit{1024, 1'048'576};
  process.memlock = Limit{8 << 20, 8 << 20};
  process.cores = {{0, 15}};
  process.namespaces = {{"pid", "a"}, {"user", "b"}, {"mnt", "c"}, {"ipc", "d"}};
  process.whole_user_map = true;
  return process;
}

Facts GoodFacts() {
  Facts facts;
  facts.self = GoodProcess(2);
  facts.simd = "AVX2";
  facts.system.memory_bytes = 128 * kGib;
  facts.system.shmem_huge = "within_size";
  facts.socket_directory = "/run/penstock";
  facts.socket = SocketFacts{.path = "/run/penstock/penstock.sock",
                             .owner = "penstock",
                             .group = "penstock",
                             .mode = 0660,
                             .caller = {.user = 1000, .group = 1000, .groups = {999}},
                             .caller_name = "ada",
                             .caller_is_member = true};
  facts.daemon = DaemonFacts{.address = "/run/penstock/penstock.sock",
                             .version = "1.2.3",
                             .pool_bytes = 4 * kGib,
                             .pool_made_bytes = kGib,
                             .user = 999,
                             .process = GoodProcess(3)};
  facts.version = "1.2.3";
  facts.gpus = std::vector<cuda::Device>{{.ordinal = 0, .name = "NVIDIA H200"}};
  facts.cuda_versions = "CUDA 13.0";
  facts.roots = {{.dataset = "flowers", .place = "/data", .file_system = "xfs", .as_daemon = true}};
  return facts;
}

Finding FindingOf(const Facts& facts, const std::string& what) {
  for (const Finding& finding : GradeFacts(facts)) {
    if (finding.what == what) return finding;
  }
  ADD_FAILURE() << "no finding about " << what;
  return {};
}

// The finding about `what` after `spoil` changed good facts. Expects that every finding that isn't
// OK has a remedy.
template <typename Spoil>
Finding Spoiled(const std::string& what, const Spoil& spoil) {
  Facts facts = GoodFacts();
  spoil(facts);
  Finding finding = FindingOf(facts, what);
  EXPECT_EQ(finding.grade == Grade::kOk, finding.remedy.empty()) << what << ": " << finding.found;
  return finding;
}

posix::Machine& MachineOf(Facts& facts) { return facts.daemon->process->machine; }

TEST(GradeTest, WhatKeepsTheMachineFromServingIsAProblemWithARemedy) {
  const absl::Status no = absl::PermissionDeniedError("refused");
  const auto grade = [](const std::string& what, const auto& spoil) {
    return Spoiled(what, spoil).grade;
  };

  EXPECT_EQ(grade("memory", [](Facts& f) { MachineOf(f).cgroup_bytes = 64 << 20; }),
            Grade::kProblem);
  EXPECT_EQ(grade("shared memory", [&](Facts& f) { f.memfd = no; }), Grade::kProblem);
  EXPECT_EQ(grade("process watching", [&](Facts& f) { f.pidfd = no; }), Grade::kProblem);
  EXPECT_EQ(grade("open files",
                  [](Facts& f) {
                    f.daemon->process->files = Limit{100, 100};
                  }),
            Grade::kProblem);
  EXPECT_EQ(grade("file size",
                  [](Facts& f) {
                    f.daemon->process->file_size = Limit{4096, 4096};
                  }),
            Grade::kProblem);
  EXPECT_EQ(grade("socket directory", [&](Facts& f) { f.directory = no; }), Grade::kProblem);
  EXPECT_EQ(grade("configuration", [&](Facts& f) { f.config = {"a.yaml", no}; }), Grade::kProblem);
  EXPECT_EQ(grade("daemon", [&](Facts& f) { f.daemon = no; }), Grade::kProblem);
  EXPECT_EQ(
      grade("daemon", [](Facts& f) { f.daemon->serving = absl::UnavailableError("GPU lost"); }),
      Grade::kProblem);
  EXPECT_EQ(grade("dataset flowers",
                  [](Facts& f) { f.roots[0].walk = absl::NotFoundError("/data: no"); }),
            Grade::kProblem);
}

TEST(GradeTest, WhatOnlyMakesItSlowerIsAWarning) {
  Facts facts = GoodFacts();
  MachineOf(facts).quota_cores = 1.5;
  MachineOf(facts).available_bytes = 512 << 20;
  facts.simd = "";
  facts.system.huge_free_bytes = 100 * kGib;
  facts.daemon->process->files = Limit{1024, 1024};
  facts.daemon->version = "1.1.0";
  facts.roots[0].walk = absl::PermissionDeniedError("/data: user 999 may not enter it");

  for (const char* what : {"processor", "memory", "vector unit", "huge pages", "open files",
                           "version", "dataset flowers"}) {
    EXPECT_EQ(FindingOf(facts, what).grade, Grade::kWarning) << what;
  }
  EXPECT_FALSE(HasProblem(GradeFacts(facts)));
}

TEST(GradeTest, WithoutADaemonThisProcessStandsForOneAndItIsSaidHowToStartIt) {
  Facts facts = GoodFacts();
  facts.daemon = absl::NotFoundError("no daemon found");
  facts.self.files = Limit{100, 100};

  EXPECT_THAT(FindingOf(facts, "daemon").remedy, HasSubstr("systemctl start penstockd"));
  EXPECT_EQ(FindingOf(facts, "daemon").grade, Grade::kWarning);
  EXPECT_EQ(FindingOf(facts, "open files").grade, Grade::kProblem);
  EXPECT_THAT(FindingOf(facts, "socket").found, HasSubstr("nobody listens there"));
}

TEST(GradeTest, MemoryTellsTheCgroupsVersionLimitAndCharge) {
  const Finding limited = Spoiled("memory", [](Facts& f) {
    MachineOf(f).tightest = {.limit_bytes = 32 * kGib, .charged_bytes = 2 * kGib};
    MachineOf(f).cgroup_bytes = 30 * kGib;
    MachineOf(f).cgroups = posix::Cgroups::kV1;
  });

  EXPECT_EQ(limited.found, "30.0 GiB available; its cgroup (v1) has 2.0 GiB of 32.0 GiB charged");
  EXPECT_THAT(FindingOf(GoodFacts(), "memory").found, HasSubstr("no cgroup limit (v2)"));
}

TEST(GradeTest, APoolThatCannotGrowToItsSizeIsAWarning) {
  const Finding small = Spoiled("memory", [](Facts& f) { f.daemon->pool_bytes = 80 * kGib; });

  EXPECT_EQ(small.grade, Grade::kWarning);
  EXPECT_THAT(small.found, HasSubstr("79.0 GiB more"));
}

TEST(GradeTest, AnyLimitOfLockedMemoryWillDo) {
  const Finding none = Spoiled("locked memory", [](Facts& f) {
    f.daemon->process->memlock = Limit{0, 0};
  });

  EXPECT_EQ(none.grade, Grade::kOk);
  EXPECT_THAT(none.found, HasSubstr("any value will do"));
}

TEST(GradeTest, ADaemonOnTheOtherSocketThanItsGpuIsAWarningWithTheNode) {
  const auto two_nodes = [](Facts& f) {
    f.system.nodes = {{0, {{0, 15}}}, {1, {{16, 31}}}};
    f.system.gpus = {{"0000:86:00.0", 1}};
  };
  const Finding far = Spoiled("numa", two_nodes);
  const Finding near = Spoiled("numa", [&](Facts& f) {
    two_nodes(f);
    f.daemon->process->cores = {{0, 31}};
  });
  const Finding unknown = Spoiled("numa", [&](Facts& f) {
    two_nodes(f);
    f.system.gpus[0].node = {};
  });

  EXPECT_EQ(far.grade, Grade::kWarning);
  EXPECT_THAT(far.found, HasSubstr("GPU 0000:86:00.0 at node 1"));
  EXPECT_THAT(far.remedy, HasSubstr("--cpunodebind=1"));
  EXPECT_EQ(near.grade, Grade::kOk);
  EXPECT_EQ(unknown.grade, Grade::kOk);
}

TEST(GradeTest, WhyAGpuCannotBeUsedIsSaidAndTheMachineServesAllTheSame) {
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

TEST(GradeTest, AGpuThatTheMachineHasAndCudaHasNotLacksItsDriverOrItsLibrary) {
  const auto has_one = [](Facts& f) {
    f.system.gpus = {{"0000:86:00.0", {}}};
    f.gpus = absl::FailedPreconditionError("libcuda.so.1 was not found");
  };
  const Finding no_module = Spoiled("gpu", has_one);
  const Finding no_library = Spoiled("gpu", [&](Facts& f) {
    has_one(f);
    f.system.driver = "580.159.04";
  });

  EXPECT_THAT(no_module.remedy, HasSubstr("modprobe nvidia"));
  EXPECT_THAT(no_library.remedy, AllOf(HasSubstr("580.159.04"), HasSubstr("--gpus all")));
}

TEST(GradeTest, WhoMayNotConnectIsToldHowToBecomeAMember) {
  const auto refused = [](Facts& f) {
    f.daemon = absl::PermissionDeniedError("no");
    f.socket->caller_is_member = false;
  };
  const Finding stranger = Spoiled("socket", refused);
  const Finding owners_alone = Spoiled("socket", [&](Facts& f) {
    refused(f);
    f.socket->mode = 0600;
  });
  const Finding roots = Spoiled("socket", [&](Facts& f) {
    refused(f);
    f.socket->group = "root";
  });

  EXPECT_EQ(stranger.grade, Grade::kProblem);
  EXPECT_THAT(stranger.remedy, HasSubstr("usermod -aG penstock ada"));
  EXPECT_THAT(owners_alone.remedy, HasSubstr("server.group"));
  EXPECT_THAT(roots.remedy, Not(HasSubstr("usermod")));
}

TEST(GradeTest, ASocketForEverybodyIsAWarning) {
  EXPECT_EQ(Spoiled("socket", [](Facts& f) { f.socket->mode = 0666; }).grade, Grade::kWarning);
}

TEST(GradeTest, AnOperatorsSocketMayBeOpenToAllBecauseTheDaemonChecksWhoConnects) {
  const Finding open = Spoiled("socket", [](Facts& f) {
    f.socket->mode = 0666;
    f.socket->for_operators = true;
  });

  EXPECT_EQ(open.grade, Grade::kOk);
  EXPECT_THAT(open.found, HasSubstr("for operators"));
  EXPECT_EQ(open.remedy, "");
}

TEST(GradeTest, OtherNamespacesAreSaidAndOnlyUsersOfTheirOwnAreAWarning) {
  const Finding others = Spoiled("namespaces", [](Facts& f) {
    f.daemon->process->namespaces["pid"] = "x";
    f.daemon->process->namespaces["mnt"] = "y";
  });
  const Finding invisible = Spoiled("namespaces", [](Facts& f) { f.daemon->process.reset(); });
  const Finding closed =
      Spoiled("namespaces", [](Facts& f) { f.daemon->process->namespaces.clear(); });
  const Finding users =
      Spoiled("namespaces", [](Facts& f) { f.daemon->process->whole_user_map = false; });

  EXPECT_THAT(others.found, HasSubstr("other ones: mount, PID; shared: IPC, user"));
  for (const Finding& fine : {others, invisible, closed}) EXPECT_EQ(fine.grade, Grade::kOk);
  EXPECT_EQ(users.grade, Grade::kWarning);
  EXPECT_THAT(users.remedy, HasSubstr("PrivateUsers=no"));
}

TEST(GradeTest, APatchsDifferenceIsNoWarning) {
  EXPECT_EQ(Spoiled("version", [](Facts& f) { f.daemon->version = "1.2.9"; }).grade, Grade::kOk);
}

TEST(GradeTest, ADatasetOnAnotherMachineIsSaidAndOneThatHangsIsAProblem) {
  const Finding remote =
      Spoiled("dataset flowers", [](Facts& f) { f.roots[0].file_system = "nfs4"; });
  const Finding hung = Spoiled("dataset flowers", [](Facts& f) {
    f.roots[0].file_system = "nfs4";
    f.roots[0].walk = absl::DeadlineExceededError("/data: no answer");
  });
  const Finding elsewhere =
      Spoiled("dataset flowers", [](Facts& f) { f.roots[0].as_daemon = false; });

  EXPECT_EQ(remote.found, "/data, nfs4 (network)");
  EXPECT_EQ(hung.grade, Grade::kProblem);
  EXPECT_THAT(elsewhere.found, HasSubstr("sees another file system"));
}

TEST(GradeTest, AGoodMachineHasNothingToDo) {
  const std::vector<Finding> findings = GradeFacts(GoodFacts());

  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.grade, Grade::kOk) << finding.what << ": " << finding.found;
    EXPECT_EQ(finding.remedy, "") << finding.what;
  }
  EXPECT_THAT(Show(findings), HasSubstr("This machine can serve: 0 problems, 0 warnings."));
}

TEST(GradeTest, AKernelWithoutPeerPidfdsIsGoodEnough) {
  const Finding old = Spoiled(
      "process watching", [](Facts& f) { f.peer_pidfd = absl::UnimplementedError("before 6.5"); });

  EXPECT_EQ(old.grade, Grade::kOk);
}

TEST(GradeTest, SharedMemorySaysThatDevShmIsNotNeeded) {
  EXPECT_THAT(FindingOf(GoodFacts(), "shared memory").found, HasSubstr("/dev/shm is not needed"));
}

TEST(GradeTest, RemediesStandBelowTheTable) {
  Facts facts = GoodFacts();
  facts.memfd = absl::PermissionDeniedError("memfd_create: Operation not permitted");

  const std::string text = Show(GradeFacts(facts));

  EXPECT_THAT(text, HasSubstr("problem  shared memory     memfd_create: Operation not permitted"));
  EXPECT_THAT(text, HasSubstr("What to do\n  shared memory: allow memfd_create"));
  EXPECT_THAT(text, HasSubstr("This machine cannot serve: 1 problem, 0 warnings."));
}

TEST(GradeTest, ForeignTextCannotWriteToTheTerminal) {
  Facts facts = GoodFacts();
  facts.roots[0].dataset = "a\x1b[2J";
  facts.roots[0].walk = absl::NotFoundError("b\n");

  EXPECT_THAT(Show(GradeFacts(facts)), Not(HasSubstr("\x1b")));
}

TEST(GradeTest, JsonSaysTheSame) {
  const std::string json = Json(GradeFacts(GoodFacts()));

  EXPECT_THAT(json, HasSubstr("\"can_serve\": true"));
  EXPECT_THAT(json, HasSubstr("\"what\": \"memory\""));
}

}  // namespace
}  // namespace penstock::ctl
