// copy: copies from host memory to the GPU by size and kind of memory, compared with a plain pinned
// copy of the same size; copies while kernels run; and data made on the CPU and copied, compared
// with data made on the GPU; and photographs decoded on the GPU, compared with one thread of the
// CPU that decodes them and copies the rows.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/cuda/device.h"
#include "tests/bench/copy_decode.h"
#include "tests/bench/copy_machine.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

using Kind = CopyMachine::Kind;
using Waiting = CopyMachine::Waiting;

constexpr Shape kBatch = {256, 224, 224, 3};  // 38.5 MB stored, 154 MB as float32
constexpr size_t kBatchBytes = size_t{256} * 224 * 224 * 3;
constexpr size_t kMemoryBytes = size_t{160} << 20;  // of each kind; a float32 batch fits
constexpr Shape kCpuBatch = {8, 224, 224, 3};       // the CPU is slow

struct Extents {
  int rounds;
  size_t run_bytes;  // roughly copied in one run
  int batches;       // made in one run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{9, size_t{1} << 30, 100}
                                 : Extents{3, size_t{128} << 20, 10};
}

struct Size {
  const char* name;
  size_t bytes;
};
constexpr Size kSizes[] = {
    {"64 KiB", 64 << 10}, {"1 MiB", 1 << 20}, {"a batch of 38.5 MB", kBatchBytes}};

struct Measured {
  std::string name;
  Run run;
  int reference;  // index of its reference run; -1: this is a reference
  std::string against;
  std::string unit;
  double goal = 0;
};

class CopySuite {
 public:
  // `decode`: null, if the GPU decodes nothing here.
  CopySuite(CopyMachine& machine, CopyDecode* decode, const Extents& extents)
      : machine_(machine), extents_(extents) {
    for (const Size& size : kSizes) AddKinds(size);
    AddOverlap();
    AddMaking();
    if (decode != nullptr) AddDecoding(*decode);
  }

  absl::StatusOr<Result> Measure(const std::string& data) {
    std::vector<Run> runs;
    for (const Measured& each : measured_) runs.push_back(each.run);
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians,
                              AlternatingMedians(runs, extents_.rounds));
    Result result{.suite = "copy", .data = data, .rounds = extents_.rounds};
    for (size_t i = 0; i < measured_.size(); ++i) {
      const Measured& each = measured_[i];
      if (each.reference < 0) continue;
      result.comparisons.push_back({.name = each.name,
                                    .against = each.against,
                                    .unit = each.unit,
                                    .figure = medians[i],
                                    .reference = medians[each.reference],
                                    .goal_ratio = each.goal});
    }
    return result;
  }

 private:
  int Count(size_t bytes) const {
    return static_cast<int>(std::max<size_t>(extents_.run_bytes / bytes, 2));
  }

  int Add(Measured measured) {
    measured_.push_back(std::move(measured));
    return static_cast<int>(measured_.size()) - 1;
  }

  Run Copies(Kind kind, size_t bytes, Waiting waiting) {
    // Limited, because small copies take long for their bytes.
    const int count = std::min(Count(bytes), 4000);
    return [this, kind, bytes, waiting, count] {
      return machine_.CopyRate(kind, bytes, count, waiting);
    };
  }

  void AddKinds(const Size& size) {
    const std::string against = absl::StrCat("a plain pinned copy, ", size.name);
    const int pinned =
        Add({"pinned", Copies(Kind::kPinned, size.bytes, Waiting::kAtTheEnd), -1, "", "", 0});
    const auto add = [&](const char* what, Kind kind, Waiting waiting, double goal) {
      Add({absl::StrCat(what, ", ", size.name), Copies(kind, size.bytes, waiting), pinned, against,
           "GB/s", goal});
    };
    add("pageable memory", Kind::kPageable, Waiting::kAtTheEnd, 0);
    add("a registered memfd, as the pool's", Kind::kSegment, Waiting::kAtTheEnd, 0.95);
    add("a read-only mapping of it, as a client's", Kind::kReadOnly, Waiting::kAtTheEnd, 0.95);
    add("pinned, waited for after each copy", Kind::kPinned, Waiting::kAfterEach, 0);
    pinned_ = pinned;  // of the last size, which is the batch
  }

  void AddOverlap() {
    const int copies = Count(kBatchBytes);
    Add({"pinned copies of a batch while kernels run",
         [this, copies] { return machine_.CopyRateBesideCompute(kBatchBytes, copies); }, pinned_,
         "the same without kernels", "GB/s", 0});
    make_ =
        Add({"", [this] { return machine_.MakeRate(kBatch, extents_.batches); }, -1, "", "", 0});
    // Enough copies to outlast the kernels.
    const int enough = std::max(copies, extents_.batches);
    Add({"kernels that make batches while copies run",
         [this, enough] {
           return machine_.MakeRateBesideCopies(kBatch, extents_.batches, kBatchBytes, enough);
         },
         make_, "the same kernels alone", "batches/s", 0});
  }

  // float32, normalised, 224 x 224, as a trainer needs it. Rates are per image, because the CPU
  // makes fewer.
  void AddMaking() {
    const int by_cpu = Add({"",
                            [this]() -> absl::StatusOr<double> {
                              PENSTOCK_ASSIGN_OR_RETURN(const double batches,
                                                        machine_.MakeAndCopyRate(kCpuBatch, 2));
                              return batches * kCpuBatch.rows;
                            },
                            -1, "", "", 0});
    Add({"random float32 images made on the GPU",
         [this]() -> absl::StatusOr<double> {
           PENSTOCK_ASSIGN_OR_RETURN(const double batches,
                                     machine_.MakeRate(kBatch, extents_.batches));
           return batches * kBatch.rows;
         },
         by_cpu, "made by one thread of the CPU, then copied from pinned memory", "images/s", 0});
    Add({"random float32 images made on the GPU, by their bytes",
         [this]() -> absl::StatusOr<double> {
           PENSTOCK_ASSIGN_OR_RETURN(const double batches,
                                     machine_.MakeRate(kBatch, extents_.batches));
           return batches * 4 * kBatchBytes / 1e9;
         },
         pinned_, "a plain pinned copy, a batch of 38.5 MB", "GB/s", 0});
  }

  void AddDecoding(CopyDecode& decode) {
    const int by_cpu = Add({"", [&decode] { return decode.CpuRate(1); }, -1, "", "", 0});
    Add({"random crops of photographs, decoded on the GPU",
         [this, &decode] { return decode.GpuRate(extents_.batches); }, by_cpu,
         "decoded by one thread of the CPU, then copied from pinned memory", "images/s", 0});
  }

  CopyMachine& machine_;
  const Extents extents_;
  std::vector<Measured> measured_;
  int pinned_ = 0, make_ = 0;
};

absl::StatusOr<std::string> Describe() {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<cuda::Device> devices, cuda::Devices());
  PENSTOCK_ASSIGN_OR_RETURN(const int current, cuda::CurrentDevice());
  return absl::StrCat(devices[current].name, ", ", cuda::Versions());
}

}  // namespace

absl::StatusOr<Result> RunCopy(const Arguments& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(std::string data, Describe());
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<CopyMachine> machine,
                            CopyMachine::Make(kMemoryBytes));
  PENSTOCK_ASSIGN_OR_RETURN(const Photographs photographs, Photographs::Open(arguments));
  const absl::StatusOr<std::unique_ptr<CopyDecode>> decode = CopyDecode::Make(photographs);
  if (!decode.ok() && !absl::IsFailedPrecondition(decode.status())) return decode.status();
  if (decode.ok())
    absl::StrAppend(&data, "; ", photographs.description(), "; ", (*decode)->decoder());
  PENSTOCK_ASSIGN_OR_RETURN(
      Result result,
      CopySuite(*machine, decode.ok() ? decode->get() : nullptr, ExtentsOf(arguments.extent))
          .Measure(data));
  if (!decode.ok()) {
    result.notes.push_back(
        absl::StrCat("no photographs decoded on the GPU: ", decode.status().message()));
  } else if ((*decode)->left_out() > 0) {
    result.notes.push_back(absl::StrCat("left out: ", (*decode)->left_out(),
                                        " photographs that the CPU or the GPU does not decode"));
  }
  return result;
}

}  // namespace penstock::bench
