// The whole library in a build without a CUDA toolkit: every call returns an error that says so.
#include "common/cuda/device.h"
#include "common/cuda/memory_info.h"
#include "common/cuda/peers.h"
#include "common/cuda/pointer.h"
#include "common/cuda/registration.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"

namespace penstock::cuda {
namespace {

absl::Status Absent() {
  return absl::FailedPreconditionError(
      "this build has no CUDA; build with a CUDA toolkit and PENSTOCK_CUDA=ON to deliver to GPUs");
}

}  // namespace

absl::Status Usable() { return Absent(); }
absl::StatusOr<std::vector<Device>> Devices() { return Absent(); }
absl::StatusOr<Device> FindDevice(const Uuid&) { return Absent(); }
std::string Versions() { return "none"; }
absl::StatusOr<int> CurrentDevice() { return Absent(); }
bool Reaches(const void*, int) { return false; }
bool IsSticky(const absl::Status&) { return false; }

DeviceScope::DeviceScope(int) : status_(Absent()) {}
DeviceScope::~DeviceScope() = default;

absl::StatusOr<Stream> Stream::Make(StreamPriority) { return Absent(); }
Stream::~Stream() = default;

absl::StatusOr<Event> Event::Make(Waiting) { return Absent(); }
Event::~Event() = default;
absl::Status Event::Record(StreamHandle) { return Absent(); }
absl::StatusOr<bool> Event::Done() const { return Absent(); }
absl::Status Event::Wait() const { return Absent(); }
absl::Status Event::MakeWait(StreamHandle) const { return Absent(); }

absl::StatusOr<Stopwatch> Stopwatch::Make() { return Absent(); }
Stopwatch::~Stopwatch() = default;
absl::Status Stopwatch::Start(StreamHandle) { return Absent(); }
absl::Status Stopwatch::Stop(StreamHandle) { return Absent(); }
absl::StatusOr<double> Stopwatch::Seconds() const { return Absent(); }

absl::StatusOr<bool> IsCapturing(StreamHandle) { return Absent(); }
absl::Status CopyToDevice(std::byte*, const std::byte*, size_t, StreamHandle) { return Absent(); }
absl::Status CopyOnDevice(std::byte*, const std::byte*, size_t, StreamHandle) { return Absent(); }
absl::Status CopyToHost(std::byte*, const std::byte*, size_t, StreamHandle) { return Absent(); }
absl::Status WriteWhenReached(StreamHandle, uint64_t*, uint64_t, uint64_t, bool) {
  return Absent();
}
absl::Status CallWhenReached(StreamHandle, void (*)(void*), void*) { return Absent(); }
absl::Status Synchronize(StreamHandle) { return Absent(); }
absl::Status SynchronizeDevice() { return Absent(); }

std::vector<Uuid> LinkedGpus(int) { return {}; }
absl::Status OpenToCurrent(const SlabAddress&) { return Absent(); }
absl::Status CopyFromGpu(std::byte*, const SlabAddress&, uint64_t, size_t, StreamHandle) {
  return Absent();
}

absl::StatusOr<MemoryInfo> QueryMemory() { return Absent(); }

absl::StatusOr<Registration> Registration::Make(std::byte*, size_t, HostAccess) { return Absent(); }
Registration::~Registration() = default;
absl::StatusOr<uint64_t> Registration::DeviceAddress(const std::byte*) const { return Absent(); }

absl::StatusOr<PinnedMemory> PinnedMemory::Make(size_t) { return Absent(); }
PinnedMemory::~PinnedMemory() = default;

// Without CUDA no slab is ever created, so there is nothing to move.
absl::StatusOr<Slab> Slab::Make(HandleKind, uint64_t) { return Absent(); }
Slab::Slab(Slab&&) noexcept {}
Slab& Slab::operator=(Slab&&) noexcept { return *this; }
Slab::~Slab() = default;

absl::StatusOr<ImportedSlab> ImportedSlab::OpenIpc(const IpcHandle&, uint64_t) { return Absent(); }
absl::StatusOr<ImportedSlab> ImportedSlab::OpenVmm(const posix::Fd&, uint64_t) { return Absent(); }
ImportedSlab::ImportedSlab(ImportedSlab&&) noexcept {}
ImportedSlab& ImportedSlab::operator=(ImportedSlab&&) noexcept { return *this; }
ImportedSlab::~ImportedSlab() = default;

absl::StatusOr<DeviceMemory> DeviceMemory::Make(uint64_t) { return Absent(); }
DeviceMemory::DeviceMemory(DeviceMemory&&) noexcept {}
DeviceMemory& DeviceMemory::operator=(DeviceMemory&&) noexcept { return *this; }
DeviceMemory::~DeviceMemory() = default;

}  // namespace penstock::cuda
