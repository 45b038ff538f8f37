#include "tests/bench/feed_rows.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "common/base/units.h"
#include "server/plan/plan.h"
#include "tests/bench/daemon.h"
#include "tests/bench/measure.h"
#include "tests/bench/scratch.h"
#include "tests/bench/trainer.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfMemcpy = 0.80;
constexpr uint64_t kSeed = 1;
constexpr uint32_t kWindow = 4;
constexpr uint64_t kLeadBatches = kWindow + 2;  // untimed: memory is touched
constexpr uint64_t kEpochsApart = 1000;         // runs never meet a batch that is there already
// A segment of the pool, whose slots are filled in turn: memory, not a cache, is what is written
// to.
constexpr uint64_t kRoom = 64 * base::kMiB;

struct Kind {
  uint32_t side, channels, batch;
  uint64_t row_bytes() const { return uint64_t{side} * side * channels; }
};
constexpr Kind kKinds[] = {{28, 1, 1024}, {224, 3, 64}};

struct Extents {
  int rounds;
  uint64_t bytes;  // of a file, and of a run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{9, 256 * base::kMiB} : Extents{3, 32 * base::kMiB};
}

void PutWord(std::string& bytes, uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift);
}

// A pair of IDX files, and the same rows and as much room for them in memory.
class Files {
 public:
  static absl::StatusOr<Files> Make(const ScratchFolder& folder, const Kind& kind, uint64_t bytes) {
    Files files;
    files.kind_ = kind;
    files.count_ = static_cast<uint32_t>(bytes / kind.row_bytes());
    const uint64_t size = files.count_ * kind.row_bytes();
    files.rows_.reset(new char[size]);
    for (uint64_t i = 0; i < size; ++i) files.rows_[i] = static_cast<char>(i * 37 >> 3);
    const uint64_t batch_bytes = kind.batch * kind.row_bytes();
    files.into_.resize(kRoom / batch_bytes * batch_bytes);
    std::string header, labels;
    for (const uint32_t word : {0x804u, files.count_, kind.side, kind.side, kind.channels})
      PutWord(header, word);
    for (const uint32_t word : {0x801u, files.count_}) PutWord(labels, word);
    labels.resize(labels.size() + files.count_);
    files.images_ = folder.path() + "/images";
    files.labels_ = folder.path() + "/labels";
    std::ofstream images(files.images_, std::ios::binary);
    images << header;
    images.write(files.rows_.get(), static_cast<std::streamsize>(size));
    if (!images.flush() || !(std::ofstream(files.labels_, std::ios::binary) << labels).flush())
      return absl::DataLossError(
          absl::StrCat(files.images_, " could not be written; is the disk full?"));
    return files;
  }

  Daemon::Serves Serves(const ScratchFolder& folder) const {
    return {.kind = absl::StrCat("idx: {images: '", images_, "', labels: '", labels_, "'}"),
            .roots = {folder.path()},
            .workers = 1};
  }

  uint32_t count() const { return count_; }
  // All rows, one after the other, into as much room as the daemon has: bytes a second.
  double Copy(const std::vector<uint64_t>& order) {
    const uint64_t row = kind_.row_bytes(), room = into_.size() / row;
    const Stopwatch watch(Time::kWall);
    for (uint64_t i = 0; i < order.size(); ++i)
      std::memcpy(into_.data() + i % room * row, rows_.get() + order[i] * row, row);
    return static_cast<double>(order.size() * row) / watch.Seconds();
  }
  // The same in pieces of a batch.
  double CopyWhole() {
    const uint64_t piece = kind_.batch * kind_.row_bytes(), room = into_.size() / piece;
    const uint64_t pieces = count_ / kind_.batch;
    const Stopwatch watch(Time::kWall);
    for (uint64_t i = 0; i < pieces; ++i)
      std::memcpy(into_.data() + i % room * piece, rows_.get() + i * piece, piece);
    return static_cast<double>(pieces * piece) / watch.Seconds();
  }

 private:
  Kind kind_;
  uint32_t count_ = 0;
  std::unique_ptr<char[]> rows_;
  std::vector<char> into_;
  std::string images_, labels_;
};

// One session, some of it untimed: bytes a second.
absl::StatusOr<double> Feed(Client& client, const Kind& kind, Order order, uint64_t epoch,
                            uint64_t samples) {
  SessionOptions options;
  options.dataset = Daemon::kDataset;
  options.batch_size = kind.batch;
  options.order = order;
  options.window = kWindow;
  options.state = State{.epoch = epoch, .seed = kSeed};
  PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(client, options));
  PENSTOCK_RETURN_IF_ERROR(trainer.Take(kLeadBatches * kind.batch).status());
  const Stopwatch watch(Time::kWall);
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t taken, trainer.Take(samples));
  return static_cast<double>(taken * kind.row_bytes()) / watch.Seconds();
}

constexpr double kGiga = 1e9;

absl::Status FeedKind(const Kind& kind, const Extents& extents, Result& result) {
  PENSTOCK_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  PENSTOCK_ASSIGN_OR_RETURN(Files files, Files::Make(folder, kind, extents.bytes));
  std::vector<uint64_t> shuffled(files.count());
  for (uint64_t i = 0; i < shuffled.size(); ++i)
    shuffled[i] = plan::SampleAt(plan::Order::kShuffled, files.count(), kSeed, 0, i);
  PENSTOCK_ASSIGN_OR_RETURN(Daemon daemon, Daemon::Start(files.Serves(folder)));
  uint64_t epoch = 0;
  const auto feed = [&](Order order) {
    return [&, order] {
      epoch += kEpochsApart;
      return Feed(daemon.client(), kind, order, epoch, files.count());
    };
  };
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::vector<double> medians,
      AlternatingMedians(
          {feed(Order::kSequential), [&] { return absl::StatusOr<double>(files.CopyWhole()); },
           feed(Order::kShuffled), [&] { return absl::StatusOr<double>(files.Copy(shuffled)); }},
          extents.rounds));
  const std::string rows = absl::StrCat("stored rows of ", kind.row_bytes(), " bytes, ");
  for (const bool in_order : {true, false})
    result.comparisons.push_back(
        {.name = rows + (in_order ? "in order" : "shuffled"),
         .against = in_order ? "memcpy of as many bytes" : "memcpy of the same rows",
         .unit = "GB/s",
         .figure = medians[in_order ? 0 : 2] / kGiga,
         .reference = medians[in_order ? 1 : 3] / kGiga,
         .goal_ratio = kGoalOfMemcpy});
  return absl::OkStatus();
}

}  // namespace

absl::Status FeedRows(Extent extent, Result& result) {
  for (const Kind& kind : kKinds)
    PENSTOCK_RETURN_IF_ERROR(FeedKind(kind, ExtentsOf(extent), result));
  return absl::OkStatus();
}

}  // namespace penstock::bench
