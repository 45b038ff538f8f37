// checkpoints: the random crops of an epoch, decoded on one core with what earlier epochs left of
// each photograph, by the room that it has; compared with libjpeg-turbo alone on the same rows and
// columns. The last comparison is the ceiling: every place is known, so that skipping costs
// nothing.
#include "server/decode/jpeg/checkpoints.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/hash.h"
#include "server/decode/decoder.h"
#include "tests/bench/bare.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/photographs.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr double kSecond = 1.65;
struct Case {
  uint64_t epochs;  // before the one that is measured
  size_t room;      // bytes for each photograph
  double goal;      // of bare libjpeg-turbo; 0: none
};
constexpr Case kCases[] = {{0, 0, 0},          {1, 209, 0}, {1, 420, 0},
                           {1, 1024, kSecond}, {8, 209, 0}, {8, 1024, 0}};
constexpr size_t kExactRoom = 4 << 10;
constexpr size_t kMostPhotographs = 256;
constexpr uint64_t kSeed = 1;
constexpr size_t kTimes = 4;  // how often each photograph is in the dataset
constexpr uint64_t kMeasuredEpoch = 0, kFirstEpoch = 1;

using Files = std::vector<std::vector<std::byte>>;

// Checkpoints of each photograph.
class Rooms {
 public:
  Rooms(size_t count, size_t room) : room_(room), bytes_(count * room), used_(count) {}

  decode::CheckpointRoom Of(size_t photograph) {
    return {.room = std::span(bytes_).subspan(photograph * room_, room_),
            .bytes = used_[photograph]};
  }
  void Keep(size_t photograph, const decode::CheckpointRoom& room) {
    if (room.changed) used_[photograph] = room.bytes;
  }
  double mean_bytes() const {
    return static_cast<double>(std::reduce(used_.begin(), used_.end())) /
           static_cast<double>(used_.size());
  }

 private:
  size_t room_;
  std::vector<std::byte> bytes_;
  std::vector<size_t> used_;
};

class CheckpointBench {
 public:
  explicit CheckpointBench(Files files)
      : files_(std::move(files)), decoder_(decode::SampleLimits()), row_(decode::RowBytes(spec_)) {}

  // What so many epochs leave.
  absl::StatusOr<Rooms> After(uint64_t epochs, size_t room) {
    Rooms rooms(samples(), room);
    for (uint64_t i = 0; i < epochs; ++i)
      PENSTOCK_RETURN_IF_ERROR(DecodeAll(spec_, kFirstEpoch + i, rooms).status());
    return rooms;
  }

  // Exactly the places where the rows of the measured epoch's crops begin.
  absl::StatusOr<Rooms> Exact() {
    Rooms rooms(samples(), kExactRoom);
    PENSTOCK_RETURN_IF_ERROR(DecodeAll(spec_, kMeasuredEpoch, rooms).status());
    for (size_t i = 0; i < samples(); ++i) {
      decode::CheckpointRoom room = rooms.Of(i);
      if (BeginExactly(i, room)) rooms.Keep(i, room);
    }
    PENSTOCK_RETURN_IF_ERROR(DecodeAll(spec_, kMeasuredEpoch, rooms).status());
    return rooms;
  }

  // Works on a copy, so that each round finds the same.
  absl::StatusOr<double> Measured(const Rooms& left) {
    Rooms rooms = left;
    return DecodeAll(spec_, kMeasuredEpoch, rooms);
  }

  absl::StatusOr<double> Bare() {
    const Stopwatch watch(Time::kThread);
    for (size_t i = 0; i < samples(); ++i) {
      const base::Fault fault = bare_.DecodeCrop(file(i), spec_, KeyOf(i, kMeasuredEpoch));
      if (fault != base::Fault::kNone) return absl::DataLossError(base::FaultName(fault));
    }
    return static_cast<double>(samples()) / watch.Seconds();
  }

  // Leaves out what cannot be decoded.
  void Sort() {
    const auto bad = [this](const std::vector<std::byte>& file) {
      return decoder_.DecodeRow(file, spec_, KeyOf(0, kFirstEpoch), row_) != base::Fault::kNone;
    };
    std::erase_if(files_, bad);
  }
  bool empty() const { return files_.empty(); }

 private:
  size_t samples() const { return kTimes * files_.size(); }
  std::span<const std::byte> file(size_t sample) const { return files_[sample % files_.size()]; }
  static decode::DrawKey KeyOf(uint64_t sample, uint64_t epoch) {
    return {.seed = kSeed, .epoch = epoch, .sample = sample};
  }

  // Replaces what an ordinary decode left by an empty list of those places.
  bool BeginExactly(size_t photograph, decode::CheckpointRoom& room) {
    const uint64_t sum = base::Hash(file(photograph));
    const auto scan = decode::Checkpoints::ReadKnown(room.room.first(room.bytes), sum);
    const auto grid = bare_.GridOf(file(photograph), spec_, KeyOf(photograph, kMeasuredEpoch));
    if (!scan || !grid) return false;
    decode::Checkpoints points;
    const uint32_t first = grid->first == 0 ? grid->per_row : grid->first;
    points.BeginOn({sum, scan->bytes, grid->mcus, grid->components}, {first, grid->per_row});
    room.bytes = points.Write(room.room);
    room.changed = true;
    return true;
  }

  absl::StatusOr<double> DecodeAll(const decode::Spec& spec, uint64_t epoch, Rooms& rooms) {
    const Stopwatch watch(Time::kThread);
    for (size_t i = 0; i < samples(); ++i) {
      decode::CheckpointRoom room = rooms.Of(i);
      decoder_.UseCheckpoints(room.room.empty() ? nullptr : &room);
      const base::Fault fault = decoder_.DecodeRow(file(i), spec, KeyOf(i, epoch), row_);
      decoder_.UseCheckpoints(nullptr);
      if (fault != base::Fault::kNone) return absl::DataLossError(base::FaultName(fault));
      rooms.Keep(i, room);
    }
    return static_cast<double>(samples()) / watch.Seconds();
  }

  const decode::Spec spec_;
  Files files_;
  decode::Decoder decoder_;
  decode::BareDecoder bare_;
  std::vector<std::byte> row_;
};

std::string NameOf(const Case& each, const Rooms& left) {
  if (each.epochs == 0) return "first epoch, nothing kept";
  return absl::StrCat("epoch ", each.epochs + 1, ", room for ", each.room, " bytes, ",
                      static_cast<int>(left.mean_bytes()), " used");
}

}  // namespace

absl::StatusOr<Result> RunCheckpoints(const Arguments& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(const Photographs photographs, Photographs::Open(arguments));
  PENSTOCK_ASSIGN_OR_RETURN(Files files, photographs.Load(kMostPhotographs));
  const int count = arguments.extent == Extent::kFull ? 9 : 3;
  CheckpointBench bench(std::move(files));
  bench.Sort();
  if (bench.empty()) return absl::InvalidArgumentError("no photograph can be decoded");
  std::vector<Rooms> left;
  for (const Case& each : kCases) {
    PENSTOCK_ASSIGN_OR_RETURN(left.emplace_back(0, 0), bench.After(each.epochs, each.room));
  }
  PENSTOCK_ASSIGN_OR_RETURN(left.emplace_back(0, 0), bench.Exact());
  std::vector<Run> runs = {[&] { return bench.Bare(); }};
  for (const Rooms& rooms : left) runs.push_back([&] { return bench.Measured(rooms); });
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians, AlternatingMedians(runs, count));
  Result result{.suite = "checkpoints", .data = photographs.description(), .rounds = count};
  for (size_t i = 0; i < left.size(); ++i) {
    result.comparisons.push_back(
        {.name = i < std::size(kCases) ? NameOf(kCases[i], left[i]) : "just the places needed",
         .against = "bare libjpeg-turbo, the same rows and columns",
         .unit = "images/s of a core",
         .figure = medians[1 + i],
         .reference = medians[0],
         .goal_ratio = i < std::size(kCases) ? kCases[i].goal : 0});
  }
  return result;
}

}  // namespace penstock::bench
