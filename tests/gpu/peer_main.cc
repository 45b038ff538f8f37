// penstock-gpu-peer: the second process of tests that need two. It reports on standard error; gpu.h
// defines its exit codes.
//   penstock-gpu-peer ipc BYTES SEED HANDLE-IN-HEX   opens a slab and looks for the pattern
//   penstock-gpu-peer vmm BYTES SEED                 does the same with descriptor 3
//   penstock-gpu-peer write BYTES SEED               tries to write to the slab of descriptor 3
//   penstock-gpu-peer break                          causes a sticky error
#include <cstdio>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "client/finish/on_device.h"
#include "tests/gpu/gpu.h"

namespace penstock::gpu {
namespace {

int Say(int code, const absl::Status& status) {
  std::fprintf(stderr, "penstock-gpu-peer: %s\n", status.ToString().c_str());
  return code;
}

absl::StatusOr<cuda::ImportedSlab> OpenIpc(uint64_t bytes, const std::string& hex) {
  const std::string raw = absl::HexStringToBytes(hex);
  cuda::IpcHandle handle;
  if (raw.size() != handle.size()) return absl::InvalidArgumentError("not a handle");
  std::memcpy(handle.data(), raw.data(), raw.size());
  return cuda::ImportedSlab::OpenIpc(handle, bytes);
}

int Look(const cuda::ImportedSlab& slab, uint32_t seed) {
  const std::vector<std::byte> expected = Pattern(kPatternBytes, seed);
  for (const uint64_t at : {uint64_t{0}, slab.bytes() - kPatternBytes}) {
    const auto read = ReadBack(slab.data() + at, kPatternBytes);
    if (!read.ok()) return Say(kPeerWrongBytes, read.status());
    if (*read != expected) {
      return Say(kPeerWrongBytes, absl::DataLossError(absl::StrCat("other bytes at ", at)));
    }
  }
  return kPeerFine;
}

int TryToWrite(const cuda::ImportedSlab& slab) {
  const std::vector<std::byte> bytes = Pattern(kPatternBytes, 99);
  return Fill(const_cast<std::byte*>(slab.data()), bytes).ok() ? kPeerCouldWrite : kPeerFine;
}

// Runs a kernel that reads from an invalid address.
int Break() {
  auto into = Must(cuda::DeviceMemory::Make(4096));
  const auto* nothing = reinterpret_cast<const uint8_t*>(uintptr_t{4096});
  absl::Status status =
      finish::ApplyOnDevice({.type = Type::kUInt8, .layout = Layout::kNHWC}, {1, 64, 64, 1},
                            {nothing, 4096}, {}, {into.data(), 4096}, {}, nullptr);
  if (status.ok()) status = cuda::SynchronizeDevice();
  if (!cuda::IsSticky(status)) return Say(kPeerNotSticky, base::Annotate(status, "at first"));
  // Small allocations may still succeed from the driver's reserves, but synchronizing the device
  // fails.
  const absl::Status later = cuda::SynchronizeDevice();
  return cuda::IsSticky(later) ? kPeerFine : Say(kPeerNotSticky, later);
}

int Run(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"break"}) return Break();
  uint64_t bytes = 0;
  uint32_t seed = 0;
  if (arguments.size() < 3 || !absl::SimpleAtoi(arguments[1], &bytes) ||
      !absl::SimpleAtoi(arguments[2], &seed)) {
    return Say(kPeerUsage, absl::InvalidArgumentError("ipc|vmm|write BYTES SEED [HANDLE]"));
  }
  const bool ipc = arguments[0] == "ipc" && arguments.size() == 4;
  const posix::Fd descriptor(ipc ? -1 : 3);
  const auto slab =
      ipc ? OpenIpc(bytes, arguments[3]) : cuda::ImportedSlab::OpenVmm(descriptor, bytes);
  if (!slab.ok()) return Say(kPeerCannotOpen, slab.status());
  return arguments[0] == "write" ? TryToWrite(*slab) : Look(*slab, seed);
}

}  // namespace
}  // namespace penstock::gpu

int main(int argc, char** argv) { return penstock::gpu::Run({argv + 1, argv + argc}); }
