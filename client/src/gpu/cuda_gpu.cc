#include "client/src/gpu/cuda_gpu.h"

#include <atomic>
#include <cstdlib>
#include <utility>

#include "client/finish/effects/on_device.h"
#include "client/finish/on_device.h"
#include "common/base/mutex.h"
#include "common/cuda/pointer.h"
#include "common/cuda/registration.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"

namespace penstock::client {
namespace {

// True once the process exits. Global, because an exit handler gets no argument.
std::atomic<bool> exiting{false};

// Registers the handler after CUDA is initialised, so that it runs before CUDA's own handlers.
void WatchExit() {
  static const int set = std::atexit([] { exiting.store(true, std::memory_order_relaxed); });
  (void)set;
}

bool Exiting() { return exiting.load(std::memory_order_relaxed); }

// Owns a CUDA object of a device, and destroys it with that device current. Leaks it when the
// process exits.
template <typename T>
class On {
 public:
  On(int device, T owned) : device_(device), owned_(std::move(owned)) {}
  On(const On&) = delete;
  On& operator=(const On&) = delete;
  ~On() {
    if (Exiting()) {
      new T(std::move(owned_));  // leaked on purpose: CUDA may be gone
      return;
    }
    const cuda::DeviceScope scope(device_);
    const T freed = std::move(owned_);
  }
  T& operator*() { return owned_; }
  const T& operator*() const { return owned_; }
  int device() const { return device_; }

 private:
  const int device_;
  T owned_;
};

template <typename T>
class CudaMemory final : public Gpu::Memory {
 public:
  CudaMemory(int device, T owned)
      : Gpu::Memory(const_cast<std::byte*>(owned.data()), owned.bytes()),
        owned_(device, std::move(owned)) {}

 private:
  On<T> owned_;
};

class CudaPages final : public Gpu::Pages {
 public:
  CudaPages(int device, cuda::Registration owned) : owned_(device, std::move(owned)) {}
  absl::StatusOr<uint64_t> DeviceAddress(const std::byte* at) const override {
    const cuda::DeviceScope scope(owned_.device());
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return (*owned_).DeviceAddress(at);
  }

 private:
  On<cuda::Registration> owned_;
};

class CudaEvent final : public Gpu::Event {
 public:
  CudaEvent(int device, cuda::Event owned) : owned_(device, std::move(owned)) {}
  absl::Status Record(Stream stream) override {
    const cuda::DeviceScope scope(owned_.device());
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return (*owned_).Record(stream);
  }
  absl::Status Wait() const override { return (*owned_).Wait(); }
  absl::Status MakeWait(Stream stream) const override {
    const cuda::DeviceScope scope(owned_.device());
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return (*owned_).MakeWait(stream);
  }

 private:
  On<cuda::Event> owned_;
};

class CudaStream final : public Gpu::OwnStream {
 public:
  CudaStream(int device, cuda::Stream owned) : owned_(device, std::move(owned)) {}
  Stream get() const override { return (*owned_).get(); }

 private:
  On<cuda::Stream> owned_;
};

// While nvJPEG works for one, the other parses headers and starts kernels. A third adds nothing.
// Together they take at most 496 MiB.
constexpr int kRowMakers = 2;
constexpr uint64_t kArenaOfMaker = uint64_t{128} << 20;
constexpr uint64_t kNvjpegOfAll = uint64_t{224} << 20;

class CudaRows final : public Gpu::Rows {
 public:
  // With the nvJPEG of `first`, unless that is null.
  static absl::StatusOr<std::shared_ptr<CudaRows>> Make(int device, const std::string& nvjpeg,
                                                        const CudaRows* first) {
    PENSTOCK_ASSIGN_OR_RETURN(cuda::Stream stream, cuda::Stream::Make(cuda::StreamPriority::kLow));
    PENSTOCK_ASSIGN_OR_RETURN(gpu_decode::RowMaker maker,
                              first != nullptr
                                  ? (*first->maker_).MakeAnother(stream.get())
                                  : gpu_decode::RowMaker::Make({.nvjpeg_path = nvjpeg,
                                                                .arena_bytes = kArenaOfMaker,
                                                                .nvjpeg_bytes = kNvjpegOfAll,
                                                                .stream = stream.get()}));
    return std::make_shared<CudaRows>(device, std::move(stream), std::move(maker));
  }
  CudaRows(int device, cuda::Stream stream, gpu_decode::RowMaker maker)
      : stream_(device, std::move(stream)),
        maker_(device, std::move(maker)),
        version_((*maker_).version()) {}

  absl::StatusOr<std::vector<gpu_decode::RowOutcome>> Make(
      const gpu_decode::RowBatch& batch) override {
    if (Exiting()) return absl::FailedPreconditionError("this process is exiting");
    const base::MutexLock lock(mutex_);
    const cuda::DeviceScope scope(stream_.device());
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return (*maker_).MakeRows(batch);
  }
  Stream stream() const override { return (*stream_).get(); }
  std::string version() const override { return version_; }
  uint64_t bytes() const override { return (*maker_).bytes_in_use(); }

 private:
  base::Mutex mutex_;
  On<cuda::Stream> stream_;
  On<gpu_decode::RowMaker> maker_;
  const std::string version_;
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(const cuda::Device& device) : device_(device) {}

  int ordinal() const override { return device_.ordinal; }
  const cuda::Uuid& uuid() const override { return device_.uuid; }

  absl::StatusOr<std::unique_ptr<Memory>> OpenIpc(const cuda::IpcHandle& handle,
                                                  uint64_t bytes) override {
    return Make<Memory, CudaMemory<cuda::ImportedSlab>>(
        [&] { return cuda::ImportedSlab::OpenIpc(handle, bytes); });
  }
  absl::StatusOr<std::unique_ptr<Memory>> OpenVmm(const posix::Fd& descriptor,
                                                  uint64_t bytes) override {
    return Make<Memory, CudaMemory<cuda::ImportedSlab>>(
        [&] { return cuda::ImportedSlab::OpenVmm(descriptor, bytes); });
  }
  absl::StatusOr<std::unique_ptr<Memory>> Allocate(uint64_t bytes) override {
    return Make<Memory, CudaMemory<cuda::DeviceMemory>>(
        [&] { return cuda::DeviceMemory::Make(bytes); });
  }
  absl::StatusOr<std::unique_ptr<Pages>> Register(std::byte* data, size_t bytes,
                                                  Access access) override {
    const auto how = access == Access::kReadOnly ? cuda::Registration::HostAccess::kReadOnly
                                                 : cuda::Registration::HostAccess::kReadWrite;
    return Make<Pages, CudaPages>([&] { return cuda::Registration::Make(data, bytes, how); });
  }
  absl::StatusOr<std::unique_ptr<Event>> MakeEvent() override {
    return Make<Event, CudaEvent>([] { return cuda::Event::Make(); });
  }
  absl::StatusOr<std::unique_ptr<OwnStream>> MakeStream() override {
    return Make<OwnStream, CudaStream>([] { return cuda::Stream::Make(); });
  }

  absl::StatusOr<std::vector<std::shared_ptr<Rows>>> MakeRowMakers(
      const std::string& nvjpeg) override {
    const cuda::DeviceScope scope(device_.ordinal);
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    std::vector<std::shared_ptr<Rows>> makers;
    std::shared_ptr<CudaRows> first;
    for (int i = 0; i < kRowMakers; ++i) {
      PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<CudaRows> maker,
                                CudaRows::Make(device_.ordinal, nvjpeg, first.get()));
      if (first == nullptr) first = maker;
      makers.push_back(std::move(maker));
    }
    return makers;
  }

  absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes) override {
    return Here([&]() -> absl::Status {
      PENSTOCK_ASSIGN_OR_RETURN(const cuda::Stream stream, cuda::Stream::Make());
      return cuda::CopyToHost(to, from, bytes, stream.get());
    });
  }
  absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                            Stream stream) override {
    return Here([&] { return cuda::CopyToDevice(to, from, bytes, stream); });
  }
  absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                            Stream stream) override {
    return Here([&] { return cuda::CopyOnDevice(to, from, bytes, stream); });
  }
  absl::Status CallWhenReached(Stream stream, void (*function)(void*), void* argument) override {
    return Here([&] { return cuda::CallWhenReached(stream, function, argument); });
  }
  absl::StatusOr<bool> IsCapturing(Stream stream) override {
    const cuda::DeviceScope scope(device_.ordinal);
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return cuda::IsCapturing(stream);
  }
  bool Reaches(const void* memory) override { return cuda::Reaches(memory, device_.ordinal); }

  absl::Status Finish(const Finishing& job, Stream stream) override {
    const Shape& shape = job.shape;
    const size_t row_bytes = size_t{shape.height} * shape.width * shape.channels;
    const size_t labels = job.into.labels == nullptr ? 0 : shape.rows;
    const std::span<std::byte> images(static_cast<std::byte*>(job.into.images),
                                      job.into.image_bytes);
    if (finish::HasEffects(job.effects)) return FinishWithEffects(job, images, stream);
    return Here([&] {
      if (job.synthetic)
        return finish::SynthesizeOnDevice(*job.synthetic, job.spec, shape, images,
                                          {job.into.labels, labels}, stream);
      return finish::ApplyOnDevice(job.spec, shape, {job.rows, shape.rows * row_bytes},
                                   {job.labels, labels}, images, {job.into.labels, labels}, stream);
    });
  }
  absl::Status Convert(const finish::TensorJob& job, Stream stream) override {
    return Here([&] { return finish::ConvertOnDevice(job, stream); });
  }
  absl::Status WriteWhenReached(const Word& word, Stream stream) override {
    return Here([&] {
      return cuda::WriteWhenReached(stream, word.host, word.device, word.value,
                                    device_.stream_memory_ops);
    });
  }
  absl::Status Synchronize() override { return Here(&cuda::SynchronizeDevice); }

 private:
  absl::Status FinishWithEffects(const Finishing& job, std::span<std::byte> images, Stream stream) {
    const Shape& shape = job.shape;
    const size_t row_bytes = size_t{shape.height} * shape.width * shape.channels;
    const std::span<int64_t> labels_into(job.into.labels,
                                         job.into.labels == nullptr ? 0 : shape.rows);
    const bool read = job.into.labels != nullptr || job.effects.soft_labels != nullptr;
    return Here([&] {
      if (job.synthetic)
        return finish::SynthesizeWithEffectsOnDevice(*job.synthetic, job.spec, job.effects, shape,
                                                     images, labels_into, stream);
      return finish::ApplyWithEffectsOnDevice(
          job.spec, job.effects, shape, {job.rows, shape.rows * row_bytes},
          {job.labels, read ? shape.rows : 0}, images, labels_into, stream);
    });
  }

  template <typename Do>
  absl::Status Here(const Do& act) {
    if (Exiting()) return absl::FailedPreconditionError("this process is exiting");
    const cuda::DeviceScope scope(device_.ordinal);
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return act();
  }

  template <typename Interface, typename Real, typename MakeOwned>
  absl::StatusOr<std::unique_ptr<Interface>> Make(const MakeOwned& make) {
    const cuda::DeviceScope scope(device_.ordinal);
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    auto owned = make();
    PENSTOCK_RETURN_IF_ERROR(owned.status());
    return std::make_unique<Real>(device_.ordinal, *std::move(owned));
  }

  const cuda::Device device_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Gpu>> OpenGpu(const cuda::Device& device) {
  const cuda::DeviceScope scope(device.ordinal);
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  WatchExit();
  return std::make_shared<CudaGpu>(device);
}

}  // namespace penstock::client
