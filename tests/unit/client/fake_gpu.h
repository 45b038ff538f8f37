// A GPU simulated in host memory. Work on a stream happens, in the stream's order, when the test
// calls Run; waits between streams are respected. It records the requests, and fails those that the
// test chooses.
//
// **Thread safety**: one thread; but the thread that decodes may use streams meanwhile.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/src/gpu/gpu.h"

namespace penstock::client {

inline constexpr uint64_t kSlabBytes = cuda::kSlabGranule;
inline constexpr char kCanary[] = "this very slab, and no other";
inline constexpr uint64_t kCanaryOffset = kSlabBytes - 4096;

class FakeGpu final : public Gpu {
 public:
  // The test's own streams.
  static Stream Named(uintptr_t number) { return reinterpret_cast<Stream>(number << 4); }

  int ordinal() const override { return 5; }
  const cuda::Uuid& uuid() const override { return uuid_; }

  absl::StatusOr<std::unique_ptr<Memory>> OpenIpc(const cuda::IpcHandle& handle,
                                                  uint64_t bytes) override {
    PENSTOCK_RETURN_IF_ERROR(ipc);
    ++opened;
    const auto found = exported.find(static_cast<int>(handle[0]));
    if (found == exported.end()) return absl::InvalidArgumentError("no such handle");
    return std::make_unique<Counted>(*this, found->second.data(), bytes);
  }
  absl::StatusOr<std::unique_ptr<Memory>> OpenVmm(const posix::Fd&, uint64_t bytes) override {
    PENSTOCK_RETURN_IF_ERROR(vmm);
    ++opened;
    return std::make_unique<Counted>(*this, exported.begin()->second.data(), bytes);
  }
  absl::StatusOr<std::unique_ptr<Memory>> Allocate(uint64_t bytes) override {
    own_.emplace_back(bytes);
    return std::make_unique<Counted>(*this, own_.back().data(), bytes);
  }
  absl::StatusOr<std::unique_ptr<Pages>> Register(std::byte* data, size_t, Access access) override {
    PENSTOCK_RETURN_IF_ERROR(registering);
    registered.push_back(access);
    return std::make_unique<RegisteredPages>(*this, data);
  }
  absl::StatusOr<std::unique_ptr<Event>> MakeEvent() override {
    return std::make_unique<FakeEvent>(*this);
  }
  absl::StatusOr<std::unique_ptr<OwnStream>> MakeStream() override {
    return std::make_unique<CopyStream>(Named(kFirstOwn + streams_made++));
  }
  absl::StatusOr<RowMakers> MakeRowMakers(const std::string&) override {
    PENSTOCK_RETURN_IF_ERROR(making);
    RowMakers makers;
    for (int i = 0; i < 2; ++i)
      makers.push_back(std::make_shared<FakeRows>(*this, Named(kFirstOwn + streams_made++)));
    return makers;
  }
  absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }
  absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                            Stream stream) override {
    PENSTOCK_RETURN_IF_ERROR(copying);
    ++copies;
    Put(stream, [=] { std::memcpy(to, from, bytes); });
    return absl::OkStatus();
  }
  absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                            Stream stream) override {
    Put(stream, [=] { std::memcpy(to, from, bytes); });
    return absl::OkStatus();
  }
  absl::Status CallWhenReached(Stream stream, void (*function)(void*), void* argument) override {
    Put(stream, [=] { function(argument); });
    return absl::OkStatus();
  }
  absl::StatusOr<bool> IsCapturing(Stream stream) override { return captured.contains(stream); }
  bool Reaches(const void* memory) override { return memory != nullptr && memory != plain_host; }

  // Only uint8 in the same layout, because other tests cover what kernels compute.
  absl::Status Convert(const finish::TensorJob& job, Stream stream) override {
    PENSTOCK_RETURN_IF_ERROR(finish::CheckTensor(job));
    Put(stream, [=] { (void)finish::Convert(job); });
    return absl::OkStatus();
  }
  absl::Status Finish(const Finishing& job, Stream stream) override {
    PENSTOCK_RETURN_IF_ERROR(finishing);
    const size_t bytes = size_t{job.shape.rows} * job.shape.height * job.shape.width * 3;
    if (finish::HasEffects(job.effects)) return FinishWithEffects(job, bytes, stream);
    if (job.synthetic) {
      Put(stream, [=] {
        const size_t labels = job.into.labels == nullptr ? 0 : job.shape.rows;
        EXPECT_TRUE(finish::Synthesize(*job.synthetic, job.spec, job.shape,
                                       {static_cast<std::byte*>(job.into.images), bytes},
                                       {job.into.labels, labels})
                        .ok());
      });
      return absl::OkStatus();
    }
    Put(stream, [=] {
      std::memcpy(job.into.images, job.rows, bytes);
      if (job.into.labels != nullptr) std::memcpy(job.into.labels, job.labels, 8 * job.shape.rows);
    });
    return absl::OkStatus();
  }
  // The boxes are read during the call, as the real GPU does.
  absl::Status FinishWithEffects(const Finishing& job, size_t bytes, Stream stream) {
    const std::vector<Erasure> erasures(job.effects.erasures.begin(), job.effects.erasures.end());
    Put(stream, [=] {
      Effects effects = job.effects;
      effects.erasures = erasures;
      const std::span<std::byte> into(static_cast<std::byte*>(job.into.images),
                                      job.into.image_bytes);
      EXPECT_TRUE(finish::ApplyWithEffects(job.spec, effects, job.shape, {job.rows, bytes},
                                           {job.labels, job.shape.rows}, into)
                      .ok());
      if (job.into.labels != nullptr) std::memcpy(job.into.labels, job.labels, 8 * job.shape.rows);
    });
    return absl::OkStatus();
  }
  absl::Status WriteWhenReached(const Word& word, Stream stream) override {
    PENSTOCK_RETURN_IF_ERROR(writing);
    EXPECT_EQ(word.device, reinterpret_cast<uint64_t>(word.host) + kDeviceShift);
    Put(stream, [=] { __atomic_store_n(word.host, word.value, __ATOMIC_RELEASE); });
    return absl::OkStatus();
  }
  absl::Status Synchronize() override {
    PENSTOCK_RETURN_IF_ERROR(synchronizing);
    ++synchronized;
    RunAll();
    return absl::OkStatus();
  }

  // Runs the stream's work up to the first wait for another stream.
  void Run(Stream stream) {
    const std::lock_guard lock(mutex_);
    std::deque<Step>& steps = streams_[stream];
    while (!steps.empty() && steps.front()()) steps.pop_front();
  }
  void RunAll() {
    const std::lock_guard lock(mutex_);
    for (size_t round = 0; round <= streams_.size(); ++round) {
      for (const auto& [stream, steps] : streams_) Run(stream);
    }
  }
  size_t Waiting(Stream stream) {
    const std::lock_guard lock(mutex_);
    return streams_[stream].size();
  }
  static constexpr uint8_t kDamaged = 0xFF;
  Stream copy_stream() const { return Named(kFirstOwn); }

  // Exports a slab, as another process would. Returns its bytes.
  std::byte* Export(int handle) {
    std::vector<std::byte>& slab = exported[handle];
    slab.resize(kSlabBytes);
    std::memcpy(slab.data() + kCanaryOffset, kCanary, sizeof(kCanary));
    return slab.data();
  }

  // Batches of undecoded rows whose making has begun.
  int BegunOn(Stream stream) {
    const std::lock_guard lock(mutex_);
    return begun_[stream];
  }

  // Errors to return, by kind of request.
  std::atomic<bool> hold_rows = false;  // rows are not made
  absl::Status ipc, vmm, registering, copying, finishing, writing, synchronizing, making;
  std::set<Stream> captured;
  const void* plain_host = nullptr;  // host memory that kernels can't access
  // The recorded requests.
  std::map<int, std::vector<std::byte>> exported;
  std::vector<Access> registered;
  int opened = 0, synchronized = 0;
  std::atomic<int> copies = 0;  // rows are made on several threads
  int alive = 0;                // allocations and pages that are not freed
  int streams_made = 0;

 private:
  static constexpr int kFirstOwn = 99;
  static constexpr uint64_t kDeviceShift = uint64_t{1} << 40;
  using Step = std::function<bool()>;  // returns false if it must wait

  class Counted final : public Memory {
   public:
    Counted(FakeGpu& gpu, std::byte* data, uint64_t bytes) : Memory(data, bytes), gpu_(gpu) {
      ++gpu_.alive;
    }
    ~Counted() override { --gpu_.alive; }

   private:
    FakeGpu& gpu_;
  };
  class RegisteredPages final : public Pages {
   public:
    RegisteredPages(FakeGpu& gpu, std::byte* data) : gpu_(gpu), data_(data) { ++gpu_.alive; }
    ~RegisteredPages() override { --gpu_.alive; }
    absl::StatusOr<uint64_t> DeviceAddress(const std::byte* at) const override {
      EXPECT_GE(at, data_);
      return reinterpret_cast<uint64_t>(at) + kDeviceShift;
    }

   private:
    FakeGpu& gpu_;
    std::byte* const data_;
  };
  class FakeEvent final : public Event {
   public:
    explicit FakeEvent(FakeGpu& gpu) : gpu_(gpu) {}
    absl::Status Record(Stream stream) override {
      done_ = std::make_shared<bool>(false);
      gpu_.Put(stream, [done = done_] { *done = true; });
      return absl::OkStatus();
    }
    absl::Status Wait() const override {
      gpu_.RunAll();
      EXPECT_TRUE(*done_) << "the host waits for what never comes";
      return absl::OkStatus();
    }
    absl::Status MakeWait(Stream stream) const override {
      const std::lock_guard lock(gpu_.mutex_);
      gpu_.streams_[stream].push_back([done = done_] { return *done; });
      return absl::OkStatus();
    }

   private:
    FakeGpu& gpu_;
    // Belongs to the last recording. Shared with the streams that wait for it, which a later
    // recording must not affect.
    std::shared_ptr<bool> done_ = std::make_shared<bool>(true);
  };
  class CopyStream final : public OwnStream {
   public:
    explicit CopyStream(Stream stream) : stream_(stream) {}
    Stream get() const override { return stream_; }

   private:
    const Stream stream_;
  };

  // "Decodes" a file to rows of its first byte; one that begins with kDamaged fails.
  class FakeRows final : public Rows {
   public:
    FakeRows(FakeGpu& gpu, Stream stream) : gpu_(gpu), stream_(stream) {}
    absl::StatusOr<std::vector<gpu_decode::RowOutcome>> Make(
        const gpu_decode::RowBatch& batch) override {
      gpu_.NoteBegun(stream_);
      while (gpu_.hold_rows) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      gpu_.Run(stream_);
      PENSTOCK_RETURN_IF_ERROR(gpu_.making);
      std::vector<gpu_decode::RowOutcome> outcomes(batch.rows.size());
      const size_t bytes = size_t{3} * batch.height * batch.width;
      for (size_t row = 0; row < batch.rows.size(); ++row) {
        uint8_t* const into = batch.into + row * bytes;
        const gpu_decode::RowInput& input = batch.rows[row];
        if (input.pixels != nullptr) {
          std::memcpy(into, input.pixels, bytes);
          continue;
        }
        const auto first = std::to_integer<uint8_t>(input.jpeg.file.front());
        std::memset(into, first == kDamaged ? 0 : first, bytes);
        if (first == kDamaged) outcomes[row] = {gpu_decode::RowResult::kFailed, "damaged"};
      }
      return outcomes;
    }
    Stream stream() const override { return stream_; }
    uint64_t bytes() const override { return 77; }
    std::string version() const override { return "fake decoder 1"; }

   private:
    FakeGpu& gpu_;
    const Stream stream_;
  };

  void NoteBegun(Stream stream) {
    const std::lock_guard lock(mutex_);
    ++begun_[stream];
  }
  void Put(Stream stream, std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    streams_[stream].push_back([act = std::move(act)] {
      act();
      return true;
    });
  }

  cuda::Uuid uuid_{{1, 2, 3}};
  std::recursive_mutex mutex_;  // of what is on streams; work on them may put more there
  std::map<Stream, std::deque<Step>> streams_;
  std::map<Stream, int> begun_;
  std::deque<std::vector<std::byte>> own_;
};

}  // namespace penstock::client
