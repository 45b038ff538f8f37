#include "tests/gpu/gpu.h"

#include <chrono>
#include <thread>

#include "tests/support/programs/program.h"

namespace penstock::gpu {

std::vector<std::byte> Pattern(size_t bytes, uint32_t seed) {
  std::vector<std::byte> pattern(bytes);
  uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : pattern) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return pattern;
}

absl::Status Fill(std::byte* device, std::span<const std::byte> bytes) {
  PENSTOCK_RETURN_IF_ERROR(cuda::CopyToDevice(device, bytes.data(), bytes.size(), nullptr));
  return cuda::SynchronizeDevice();
}

absl::StatusOr<std::vector<std::byte>> ReadBack(const std::byte* device, size_t bytes) {
  std::vector<std::byte> read(bytes);
  PENSTOCK_RETURN_IF_ERROR(cuda::SynchronizeDevice());
  PENSTOCK_RETURN_IF_ERROR(cuda::CopyToHost(read.data(), device, bytes, nullptr));
  return read;
}

void Mark(const cuda::Slab& slab, uint32_t seed) {
  const std::vector<std::byte> pattern = Pattern(kPatternBytes, seed);
  ASSERT_OK(Fill(slab.data(), pattern));
  ASSERT_OK(Fill(slab.data() + slab.bytes() - kPatternBytes, pattern));
}

int RunPeer(std::vector<std::string> arguments, int descriptor) {
  arguments.insert(arguments.begin(), testing::ProgramPath("penstock-gpu-peer"));
  std::vector<posix::Child::Inherited> inherited;
  if (descriptor >= 0) inherited.push_back({descriptor, 3});
  posix::Child child = Must(posix::Child::Spawn(arguments, inherited));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    if (const std::optional<posix::Exit> exit = child.Reap()) {
      return exit->signalled ? -1 : exit->code;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return -1;
}

}  // namespace penstock::gpu
