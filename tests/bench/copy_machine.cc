#include "tests/bench/copy_machine.h"

#include <cstring>

#include "tests/bench/harness/measure.h"

namespace penstock::bench {
namespace {

constexpr float kMean[3] = {0.485f, 0.456f, 0.406f};
constexpr float kStddev[3] = {0.229f, 0.224f, 0.225f};
// The form of torch.rand's output that a trainer uses.
constexpr finish::Spec kFinish = {Type::kFloat32, Layout::kNCHW, kMean, kStddev};
constexpr Shape kComputeShape = {256, 224, 224, 3};

double Rate(size_t bytes, int count, double seconds) {
  return static_cast<double>(bytes) * count / 1e9 / seconds;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CopyMachine>> CopyMachine::Make(size_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(cuda::CurrentDevice().status());
  std::unique_ptr<CopyMachine> machine(new CopyMachine);
  CopyMachine& m = *machine;
  m.bytes_ = bytes;
  m.pageable_ = std::make_unique<std::byte[]>(bytes);  // zeroed, so its pages exist
  PENSTOCK_ASSIGN_OR_RETURN(m.pinned_, cuda::PinnedMemory::Make(bytes));
  PENSTOCK_ASSIGN_OR_RETURN(m.memory_, posix::MakeMemory("penstock-bench", bytes));
  PENSTOCK_ASSIGN_OR_RETURN(m.segment_,
                            posix::Mapping::Map(m.memory_, bytes, posix::Access::kReadWrite));
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd view, posix::ReadOnlyView(m.memory_));
  PENSTOCK_ASSIGN_OR_RETURN(m.read_only_,
                            posix::Mapping::Map(view, bytes, posix::Access::kReadOnly));
  std::memset(m.pinned_.data(), 1, bytes);
  std::memset(m.segment_.data(), 2, bytes);
  using Access = cuda::Registration::HostAccess;
  PENSTOCK_ASSIGN_OR_RETURN(m.segment_registration_,
                            cuda::Registration::Make(m.segment_.data(), bytes, Access::kReadWrite));
  PENSTOCK_ASSIGN_OR_RETURN(
      m.read_only_registration_,
      cuda::Registration::Make(m.read_only_.data(), bytes, Access::kReadOnly));
  PENSTOCK_ASSIGN_OR_RETURN(m.target_, cuda::DeviceMemory::Make(bytes));
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t made,
                            finish::FinishedBytes(kFinish.type, kComputeShape));
  PENSTOCK_ASSIGN_OR_RETURN(m.made_, cuda::DeviceMemory::Make(made));
  PENSTOCK_ASSIGN_OR_RETURN(m.copies_, cuda::Stream::Make());
  PENSTOCK_ASSIGN_OR_RETURN(m.compute_, cuda::Stream::Make());
  PENSTOCK_ASSIGN_OR_RETURN(m.copy_watch_, cuda::Stopwatch::Make());
  PENSTOCK_ASSIGN_OR_RETURN(m.compute_watch_, cuda::Stopwatch::Make());
  return machine;
}

const std::byte* CopyMachine::Host(Kind kind) const {
  switch (kind) {
    case Kind::kPinned:
      return pinned_.data();
    case Kind::kPageable:
      return pageable_.get();
    case Kind::kSegment:
      return segment_.data();
    case Kind::kReadOnly:
      return read_only_.data();
  }
  return nullptr;
}

absl::Status CopyMachine::Enqueue(Kind kind, size_t bytes, int count) {
  const size_t places = bytes_ / bytes;
  for (int i = 0; i < count; ++i) {
    const size_t at = static_cast<size_t>(i) % places * bytes;
    PENSTOCK_RETURN_IF_ERROR(
        cuda::CopyToDevice(target_.data() + at, Host(kind) + at, bytes, copies_.get()));
  }
  return absl::OkStatus();
}

absl::Status CopyMachine::Compute(const Shape& shape, int count) {
  for (int i = 0; i < count; ++i) {
    PENSTOCK_RETURN_IF_ERROR(
        finish::SynthesizeOnDevice({.epoch = static_cast<uint64_t>(i)}, kFinish, shape,
                                   {made_.data(), made_.bytes()}, {}, compute_.get()));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> CopyMachine::CopyRate(Kind kind, size_t bytes, int count, Waiting waiting) {
  const Stopwatch watch(Time::kWall);
  const int step = waiting == Waiting::kAfterEach ? 1 : count;
  for (int done = 0; done < count; done += step) {
    PENSTOCK_RETURN_IF_ERROR(Enqueue(kind, bytes, step));
    PENSTOCK_RETURN_IF_ERROR(cuda::Synchronize(copies_.get()));
  }
  return Rate(bytes, count, watch.Seconds());
}

absl::StatusOr<double> CopyMachine::CopyRateBesideCompute(size_t bytes, int count) {
  PENSTOCK_RETURN_IF_ERROR(Compute(kComputeShape, 20));
  PENSTOCK_RETURN_IF_ERROR(copy_watch_.Start(copies_.get()));
  PENSTOCK_RETURN_IF_ERROR(Enqueue(Kind::kPinned, bytes, count));
  PENSTOCK_RETURN_IF_ERROR(copy_watch_.Stop(copies_.get()));
  // Keep computing until the copies are done.
  cuda::Event done;
  PENSTOCK_ASSIGN_OR_RETURN(done, cuda::Event::Make());
  PENSTOCK_RETURN_IF_ERROR(done.Record(copies_.get()));
  for (bool over = false; !over;) {
    PENSTOCK_RETURN_IF_ERROR(Compute(kComputeShape, 10));
    PENSTOCK_ASSIGN_OR_RETURN(over, done.Done());
  }
  PENSTOCK_RETURN_IF_ERROR(cuda::SynchronizeDevice());
  PENSTOCK_ASSIGN_OR_RETURN(const double seconds, copy_watch_.Seconds());
  return Rate(bytes, count, seconds);
}

absl::StatusOr<double> CopyMachine::MakeRate(const Shape& shape, int count) {
  return MakeRateBesideCopies(shape, count, 0, 0);
}

absl::StatusOr<double> CopyMachine::MakeRateBesideCopies(const Shape& shape, int count,
                                                         size_t bytes, int copies) {
  if (copies > 0) PENSTOCK_RETURN_IF_ERROR(Enqueue(Kind::kPinned, bytes, copies));
  PENSTOCK_RETURN_IF_ERROR(compute_watch_.Start(compute_.get()));
  PENSTOCK_RETURN_IF_ERROR(Compute(shape, count));
  PENSTOCK_RETURN_IF_ERROR(compute_watch_.Stop(compute_.get()));
  PENSTOCK_ASSIGN_OR_RETURN(const double seconds, compute_watch_.Seconds());
  PENSTOCK_RETURN_IF_ERROR(cuda::SynchronizeDevice());
  return count / seconds;
}

absl::StatusOr<double> CopyMachine::MakeAndCopyRate(const Shape& shape, int count) {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t bytes, finish::FinishedBytes(kFinish.type, shape));
  if (bytes > bytes_) return absl::InvalidArgumentError("the batch is larger than the memory");
  const Stopwatch watch(Time::kWall);
  for (int i = 0; i < count; ++i) {
    PENSTOCK_RETURN_IF_ERROR(finish::Synthesize({.epoch = static_cast<uint64_t>(i)}, kFinish, shape,
                                                {pinned_.data(), bytes}, {}));
    PENSTOCK_RETURN_IF_ERROR(
        cuda::CopyToDevice(target_.data(), pinned_.data(), bytes, copies_.get()));
    PENSTOCK_RETURN_IF_ERROR(cuda::Synchronize(copies_.get()));
  }
  return count / watch.Seconds();
}

}  // namespace penstock::bench
