// checkpoints: the random crops of an epoch, decoded on one core with what the epoch before left of
// each photograph, by the room that it has; compared with libjpeg-turbo alone on the same rows and
// columns. The last comparison is the ceiling: every place is known, so that skipping costs
// nothing.
#include <algorithm>
#include <limits>
#include <numeric>

#include "server/decode/decoder.h"
#include "tests/bench/bare.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/photographs.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfBare = 1.65;
constexpr size_t kRooms[] = {0, 128, 209, 420, 840, 1680};  // bytes for each photograph
constexpr size_t kCeilingRoom = 64 << 10;
constexpr size_t kMostPhotographs = 256;
constexpr uint64_t kSeed = 1;
constexpr uint64_t kFirstEpoch = 0, kSecondEpoch = 1;

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

  // What the first epoch leaves.
  absl::StatusOr<Rooms> AfterAnEpoch(size_t room) {
    Rooms rooms(files_.size(), room);
    PENSTOCK_RETURN_IF_ERROR(DecodeAll(spec_, kFirstEpoch, rooms).status());
    return rooms;
  }

  // Every place that the second epoch needs.
  absl::StatusOr<Rooms> Complete() {
    Rooms rooms(files_.size(), kCeilingRoom);
    PENSTOCK_RETURN_IF_ERROR(DecodeAll(spec_, kSecondEpoch, rooms).status());
    return rooms;
  }

  // Works on a copy, so that each round finds the same.
  absl::StatusOr<double> SecondEpoch(const Rooms& left) {
    Rooms rooms = left;
    return DecodeAll(spec_, kSecondEpoch, rooms);
  }

  absl::StatusOr<double> Bare() {
    const Stopwatch watch(Time::kThread);
    for (size_t i = 0; i < files_.size(); ++i) {
      const base::Fault fault = bare_.DecodeCrop(files_[i], spec_, KeyOf(i, kSecondEpoch));
      if (fault != base::Fault::kNone) return absl::DataLossError(base::FaultName(fault));
    }
    return static_cast<double>(files_.size()) / watch.Seconds();
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
  static decode::DrawKey KeyOf(uint64_t sample, uint64_t epoch) {
    return {.seed = kSeed, .epoch = epoch, .sample = sample};
  }

  absl::StatusOr<double> DecodeAll(const decode::Spec& spec, uint64_t epoch, Rooms& rooms) {
    const Stopwatch watch(Time::kThread);
    for (size_t i = 0; i < files_.size(); ++i) {
      decode::CheckpointRoom room = rooms.Of(i);
      decoder_.UseCheckpoints(room.room.empty() ? nullptr : &room);
      const base::Fault fault = decoder_.DecodeRow(files_[i], spec, KeyOf(i, epoch), row_);
      decoder_.UseCheckpoints(nullptr);
      if (fault != base::Fault::kNone) return absl::DataLossError(base::FaultName(fault));
      rooms.Keep(i, room);
    }
    return static_cast<double>(files_.size()) / watch.Seconds();
  }

  const decode::Spec spec_;
  Files files_;
  decode::Decoder decoder_;
  decode::BareDecoder bare_;
  std::vector<std::byte> row_;
};

}  // namespace

absl::StatusOr<Result> RunCheckpoints(const Arguments& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(const Photographs photographs, Photographs::Open(arguments));
  PENSTOCK_ASSIGN_OR_RETURN(Files files, photographs.Load(kMostPhotographs));
  const int count = arguments.extent == Extent::kFull ? 15 : 3;
  CheckpointBench bench(std::move(files));
  bench.Sort();
  if (bench.empty()) return absl::InvalidArgumentError("no photograph can be decoded");
  std::vector<Rooms> left;
  for (const size_t room : kRooms) {
    PENSTOCK_ASSIGN_OR_RETURN(left.emplace_back(0, 0), bench.AfterAnEpoch(room));
  }
  PENSTOCK_ASSIGN_OR_RETURN(left.emplace_back(0, 0), bench.Complete());
  std::vector<Run> runs = {[&] { return bench.Bare(); }};
  for (const Rooms& rooms : left) runs.push_back([&] { return bench.SecondEpoch(rooms); });
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians, AlternatingMedians(runs, count));
  Result result{.suite = "checkpoints", .data = photographs.description(), .rounds = count};
  for (size_t i = 0; i < left.size(); ++i) {
    const bool is_ceiling = i + 1 == left.size();
    const std::string name =
        is_ceiling ? "every place known"
                   : absl::StrCat("room for ", kRooms[i], " bytes, of which ",
                                  static_cast<int>(left[i].mean_bytes()), " are used");
    result.comparisons.push_back(
        {.name = name,
         .against = "bare libjpeg-turbo, the same rows and columns",
         .unit = "images/s of a core",
         .figure = medians[1 + i],
         .reference = medians[0],
         .goal_ratio = kRooms[std::min(i, std::size(kRooms) - 1)] == 840 ? kGoalOfBare : 0});
  }
  return result;
}

}  // namespace penstock::bench
