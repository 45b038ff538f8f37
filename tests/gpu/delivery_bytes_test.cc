// Every delivery gives the same bytes as host delivery: with both kinds of handle, pinned, between
// PID namespaces, with other visible GPUs, and to eight sessions at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tests/gpu/delivery.h"
#include "tests/gpu/gpu.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::gpu {
namespace {

using testing::DaemonProcess;
using testing::Delivered;
using testing::Ended;
using ::testing::HasSubstr;
using testing::OneEpoch;
using testing::ProgramPath;
using testing::RunProgram;
using testing::SmallRows;

constexpr uint32_t kBatch = 8;
constexpr char kUnshare[] = "/usr/bin/unshare";

struct Case {
  const char* name;
  Delivery delivery;
  HandleKind handle;
};

class DeliveryBytesTest : public ::testing::TestWithParam<Case> {
 protected:
  SessionOptions Asked(const SessionOptions& options) {
    return On({"cuda:0", GetParam().delivery, GetParam().handle}, options);
  }
  DaemonProcess daemon_{{.workers = 2}};
};

INSTANTIATE_TEST_SUITE_P(All, DeliveryBytesTest,
                         ::testing::Values(Case{"DeviceByIpc", Delivery::kDevice, HandleKind::kIpc},
                                           Case{"DeviceByVmm", Delivery::kDevice, HandleKind::kVmm},
                                           Case{"Pinned", Delivery::kPinned, HandleKind::kAuto}),
                         [](const auto& info) { return info.param.name; });

TEST_P(DeliveryBytesTest, EveryRowLabelAndIdIsThatOfHostDelivery) {
  const SessionOptions options = SmallRows(TestPhotographs(), kBatch);

  const Epoch epoch = OneEpochOnGpu(daemon_.address(), Asked(options));

  EXPECT_EQ(epoch.delivery, GetParam().delivery) << epoch.reason;
  EXPECT_EQ(epoch.handle, GetParam().handle) << epoch.reason;
  EXPECT_TRUE(epoch.delivered == OneEpoch(daemon_.address(), options));
}

TEST_P(DeliveryBytesTest, LargeRowsAreTheSame) {
  SessionOptions options = SmallRows(TestPhotographs(), 32);
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};

  const Epoch epoch = OneEpochOnGpu(daemon_.address(), Asked(options));

  EXPECT_TRUE(epoch.delivered == OneEpoch(daemon_.address(), options));
}

TEST_P(DeliveryBytesTest, FinishedFloatsHaveTheHostsBits) {
  SessionOptions options = SmallRows(TestPhotographs(), kBatch);
  options.random_crop->width = 35;  // the rows' size is not a multiple of 16 bytes
  const Finish finish = {.type = Type::kFloat16,
                         .layout = Layout::kNCHW,
                         .mean = {0.485f, 0.456f, 0.406f},
                         .stddev = {0.229f, 0.224f, 0.225f}};
  Client client = Client::Connect({.address = daemon_.address()}).OrDie();
  Session there = client.Open(Asked(options)).OrDie(), here = client.Open(options).OrDie();
  const Desk desk(there, 2);

  for (int i = 0; i < 3; ++i) {
    const Batch expected = here.Next().OrDie();
    std::vector<uint8_t> floats(expected.FinishedBytes(finish));
    ASSERT_TRUE(expected.FinishInto(finish, floats.data(), floats.size()).ok());
    const Result<Batch> got = there.NextInto(finish, desk.into(), desk.stream());
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(desk.Images(floats.size(), desk.stream()), floats);
  }
}

TEST_P(DeliveryBytesTest, RawRowsCanBeCopiedBack) {
  const SessionOptions options = SmallRows(TestPhotographs(), kBatch);
  Client client = Client::Connect({.address = daemon_.address()}).OrDie();
  Session there = client.Open(Asked(options)).OrDie(), here = client.Open(options).OrDie();

  for (int i = 0; i < 5; ++i) {
    const Batch expected = here.Next().OrDie(), got = there.Next().OrDie();
    std::vector<uint8_t> rows(got.FinishedBytes(kAsStored));
    ASSERT_TRUE(got.CopyImages(rows.data(), rows.size()).ok());
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), expected.images().begin()));
    EXPECT_TRUE(std::equal(got.labels().begin(), got.labels().end(), expected.labels().begin()));
  }
}

TEST_P(DeliveryBytesTest, SixteenPlacesAndOneAreEnough) {
  for (const uint32_t depth : {1u, 16u}) {
    SessionOptions options = Asked(SmallRows(TestPhotographs(), kBatch));
    options.device_depth = depth;
    options.window = 16;
    const Epoch epoch = OneEpochOnGpu(daemon_.address(), options);
    EXPECT_EQ(epoch.delivery, GetParam().delivery) << epoch.reason;
    EXPECT_EQ(epoch.delivered.twice, 0u);
  }
}

// ---- PID namespaces ----

class NamespaceTest : public ::testing::Test {
 protected:
  static bool Permitted() {
    return std::filesystem::exists(kUnshare) &&
           RunProgram(kUnshare, {"-pf", "--mount-proc", "true"}).exit_code == 0;
  }
  // Both processes have PID 1 in their namespaces, unless the trainer's shell comes first.
  static Ended Train(const DaemonProcess& daemon, const std::string& before) {
    const std::string trainer =
        absl::StrCat(ProgramPath("penstock-gpu-trainer"), " ", daemon.address(), " ",
                     TestPhotographs(), " epoch cuda:0 device auto");
    const std::string shell = before.empty() ? absl::StrCat("exec ", trainer)
                                             : absl::StrCat(before, trainer, "; exit $?");
    return RunProgram(kUnshare, {"-pf", "--mount-proc", "--kill-child", "sh", "-c", shell});
  }
  static DaemonProcess::Options InANamespace() {
    return {.workers = 1,
            .config = {},
            .user = {},
            .on_terminal = false,
            .under = {kUnshare, "-pf", "--mount-proc", "--kill-child"}};
  }
};

#define SKIP_UNLESS_UNSHARE_WORKS()                                                      \
  if (!Permitted()) {                                                                    \
    std::printf("SKIPPED: PID namespaces: unshare -pf --mount-proc is not permitted\n"); \
    GTEST_SKIP() << "unshare -pf --mount-proc is not permitted here";                    \
  }

TEST_F(NamespaceTest, EqualPidsInSeparateNamespacesTakeVmmMemory) {
  SKIP_UNLESS_UNSHARE_WORKS();
  DaemonProcess daemon(InANamespace());
  const Delivered expected = OneEpoch(daemon.address(), SmallRows(TestPhotographs(), kBatch));

  const Ended trainer = Train(daemon, "");

  EXPECT_EQ(trainer.exit_code, 0) << trainer.output;
  EXPECT_THAT(trainer.output, HasSubstr(absl::StrCat(DigestOf(expected), " device vmm ")));
  std::printf("equal PIDs: %s", trainer.output.c_str());
  daemon.Kill(SIGKILL);
}

TEST_F(NamespaceTest, DifferentPidsInSeparateNamespacesTakeIpc) {
  SKIP_UNLESS_UNSHARE_WORKS();
  DaemonProcess daemon(InANamespace());
  const Delivered expected = OneEpoch(daemon.address(), SmallRows(TestPhotographs(), kBatch));

  const Ended trainer = Train(daemon, "true; true; ");

  EXPECT_EQ(trainer.exit_code, 0) << trainer.output;
  EXPECT_THAT(trainer.output, HasSubstr(absl::StrCat(DigestOf(expected), " device ipc ")));
  std::printf("different PIDs: %s", trainer.output.c_str());
  daemon.Kill(SIGKILL);
}

// ---- Other ordinals ----

Ended TrainWith(const std::string& visible, const DaemonProcess& daemon,
                const std::string& device) {
  return RunProgram("/usr/bin/env",
                    {"CUDA_VISIBLE_DEVICES=" + visible, ProgramPath("penstock-gpu-trainer"),
                     daemon.address(), TestPhotographs(), "epoch", device, "device"});
}

TEST(VisibleDevicesTest, AGpuThatIsNamedByItsUuidIsTheSame) {
  DaemonProcess daemon({.workers = 1});
  const Delivered expected = OneEpoch(daemon.address(), SmallRows(TestPhotographs(), kBatch));
  const cuda::Device last = Must(cuda::Devices()).back();

  const Ended trainer = TrainWith(last.uuid.ToString(), daemon, "cuda:0");

  EXPECT_THAT(trainer.output, HasSubstr(absl::StrCat(DigestOf(expected), " device ")));
  ASSERT_EQ(daemon.Status().gpus_size(), 1);
  EXPECT_EQ(daemon.Status().gpus(0).uuid(), last.uuid.ToString());
}

TEST(VisibleDevicesTest, WithoutAVisibleGpuADemandForOneFailsInWords) {
  DaemonProcess daemon({.workers = 1});

  const Ended demanded = TrainWith("", daemon, "cuda:0");

  EXPECT_NE(demanded.exit_code, 0);
  EXPECT_THAT(demanded.output, HasSubstr("GPU"));
  std::printf("no GPU visible: %s", demanded.output.c_str());
}

#define SKIP_ON_ONE_GPU()                                        \
  if (Must(cuda::Devices()).size() < 2) {                        \
    std::printf("SKIPPED: two GPUs: this machine has one\n");    \
    GTEST_SKIP() << "two GPUs are needed, this machine has one"; \
  }

TEST(TwoGpusTest, TrainersWithPermutedOrdinalsGetTheirOwn) {
  SKIP_ON_ONE_GPU();
  DaemonProcess daemon({.workers = 2});
  const Delivered expected = OneEpoch(daemon.address(), SmallRows(TestPhotographs(), kBatch));
  Ended straight, permuted;

  std::thread other([&] { permuted = TrainWith("1,0", daemon, "cuda:0"); });
  straight = TrainWith("0,1", daemon, "cuda:0");
  other.join();

  for (const Ended& trainer : {straight, permuted}) {
    EXPECT_THAT(trainer.output, HasSubstr(absl::StrCat(DigestOf(expected), " device ")));
  }
  EXPECT_EQ(daemon.Status().gpus_size(), 2);
}

TEST(TwoGpusTest, OneProcessHasSessionsOnBothWhateverIsCurrent) {
  SKIP_ON_ONE_GPU();
  DaemonProcess daemon({.workers = 2});
  const SessionOptions options = SmallRows(TestPhotographs(), kBatch);
  const Delivered expected = OneEpoch(daemon.address(), options);
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  std::vector<Session> sessions;
  std::vector<std::unique_ptr<Desk>> desks;
  std::vector<Delivered> got(3);
  const std::vector<How> hows = {{"cuda:0"}, {"cuda:1"}, {"cuda:1", Delivery::kPinned}};
  for (const How& how : hows) {
    sessions.push_back(client.Open(On(how, options)).OrDie());
    desks.push_back(std::make_unique<Desk>(sessions.back()));
  }

  for (uint64_t step = 0; step < sessions[0].batches_in_epoch(); ++step) {
    for (size_t i = 0; i < sessions.size(); ++i) {
      const cuda::DeviceScope another(1 - sessions[i].device());
      ASSERT_TRUE(TakeOnGpu(sessions[i], *desks[i], desks[i]->stream(), 1, got[i]).ok());
    }
  }

  for (const Delivered& delivered : got) EXPECT_TRUE(delivered == expected);
}

// ---- Sharing ----

TEST(SharingTest, EightSessionsOnOneFeedCostOneCopyABatch) {
  DaemonProcess daemon({.workers = 2});
  const SessionOptions options = SmallRows(TestPhotographs(), kBatch);
  const Delivered expected = OneEpoch(daemon.address(), options);
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  constexpr int kSessions = 8;
  std::vector<Session> sessions;
  std::vector<std::unique_ptr<Desk>> desks;
  std::vector<Delivered> got(kSessions);
  for (int i = 0; i < kSessions; ++i) {
    sessions.push_back(client.Open(On({}, options)).OrDie());
    desks.push_back(std::make_unique<Desk>(sessions.back()));
  }
  const uint64_t batches = sessions[0].batches_in_epoch();

  for (uint64_t step = 0; step < batches; ++step) {
    for (int i = 0; i < kSessions; ++i) {
      const Status taken = TakeOnGpu(sessions[i], *desks[i], desks[i]->stream(), 1, got[i]);
      ASSERT_TRUE(taken.ok()) << taken.ToString();
    }
  }

  for (const Delivered& delivered : got) EXPECT_TRUE(delivered == expected);
  const v1::GetStatusResponse status = daemon.Status();
  ASSERT_EQ(status.gpus_size(), 1);
  EXPECT_EQ(status.gpus(0).copies(), batches);
  EXPECT_EQ(status.gpus(0).sessions(), 8u);
  std::printf("eight sessions: %lu copies for %lu batches each\n",
              static_cast<unsigned long>(status.gpus(0).copies()),
              static_cast<unsigned long>(batches));
}

TEST(SharingTest, FourProcessesGetTheSameBytes) {
  DaemonProcess daemon({.workers = 2});
  const Delivered expected = OneEpoch(daemon.address(), SmallRows(TestPhotographs(), kBatch));
  std::vector<Ended> ended(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ended.size(); ++i) {
    threads.emplace_back([&, i] {
      ended[i] =
          RunProgram("penstock-gpu-trainer", {daemon.address(), TestPhotographs(), "epoch",
                                              "cuda:0", "device", i % 2 == 0 ? "ipc" : "vmm"});
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const Ended& trainer : ended) {
    EXPECT_THAT(trainer.output, HasSubstr(absl::StrCat(DigestOf(expected), " device ")));
  }
}

}  // namespace
}  // namespace penstock::gpu
