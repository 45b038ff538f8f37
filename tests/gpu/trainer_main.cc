// penstock-gpu-trainer ADDRESS DATASET MODE [DEVICE [DELIVERY [HANDLE]]]: a trainer on a GPU in a
// separate process. It takes rows of 32 × 32 in batches of 8.
//   epoch   takes an epoch and prints its digest, delivery, handle and reason on one line
//   watch   reads one batch repeatedly in a kernel that reports into the memory of descriptor 3;
//           prints "holding" once the kernel runs
//   write   writes to a batch of a VMM slab; exits with 0 if that caused a sticky error, else with
//   5
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "common/cuda/registration.h"
#include "common/posix/memory.h"
#include "tests/gpu/delivery.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels.h"

namespace penstock::gpu {
namespace {

constexpr double kWatchSeconds = 25;
constexpr size_t kPage = 4096;

int TakeEpoch(const std::string& address, const SessionOptions& options) {
  const Epoch epoch = OneEpochOnGpu(address, options);
  std::printf("%s %s %s %s\n", DigestOf(epoch.delivered).c_str(), DeliveryName(epoch.delivery),
              HandleName(epoch.handle), epoch.reason.c_str());
  return ::testing::UnitTest::GetInstance()->Failed() ? 1 : 0;
}

int WatchOne(Session& session) {
  const cuda::DeviceScope scope(session.device());
  const posix::Fd given(3);
  const posix::Mapping mapping = Must(posix::Mapping::Map(given, kPage, posix::Access::kReadWrite));
  const cuda::Registration registered = Must(
      cuda::Registration::Make(mapping.data(), kPage, cuda::Registration::HostAccess::kReadWrite));
  const uint64_t there = Must(registered.DeviceAddress(mapping.data()));
  const volatile auto* here = reinterpret_cast<const WatchReport*>(mapping.data());
  const Desk desk(session);
  const Batch batch = session.Next(desk.stream()).OrDie();
  Watch(batch.device_images(), batch.FinishedBytes(kAsStored),
        static_cast<uint8_t*>(desk.into().images), kWatchSeconds,
        reinterpret_cast<WatchReport*>(there), desk.stream());
  while (here->passes < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (write(1, "holding\n", 8) != 8) return 1;
  for (;;) pause();
}

int WriteOne(Session& session) {
  if (session.handle() != HandleKind::kVmm) {
    std::fprintf(stderr, "the handle is not VMM: %s\n", session.delivery_reason().c_str());
    return 1;
  }
  const cuda::DeviceScope scope(session.device());
  const Desk desk(session);
  const Batch batch = session.Next(desk.stream()).OrDie();
  Overwrite(const_cast<uint8_t*>(batch.device_images()), batch.FinishedBytes(kAsStored),
            desk.stream());
  const absl::Status status = cuda::SynchronizeDevice();
  std::fprintf(stderr, "after writing: %s\n", status.ToString().c_str());
  fflush(stderr);
  _exit(cuda::IsSticky(status) ? 0 : 5);  // no CUDA call works any more
}

}  // namespace
}  // namespace penstock::gpu

int main(int argc, char** argv) {
  using namespace penstock::gpu;
  if (argc < 4) return 2;
  alarm(120);  // ends this process if the test does not
  How how;
  if (argc > 4) how.device = argv[4];
  if (argc > 5) how.delivery = DeliveryOf(argv[5]);
  if (argc > 6) how.handle = HandleOf(argv[6]);
  const penstock::SessionOptions options = On(how, penstock::testing::SmallRows(argv[2], 8));
  const std::string mode = argv[3];
  if (mode == "epoch") return TakeEpoch(argv[1], options);
  penstock::Client client = penstock::Client::Connect({.address = argv[1]}).OrDie();
  penstock::Session session = client.Open(options).OrDie();
  if (mode == "watch") return WatchOne(session);
  if (mode == "write") return WriteOne(session);
  return 2;
}
