#include "tests/bench/feed/feed_rows.h"

#include <vector>

#include "common/base/units.h"
#include "server/plan/plan.h"
#include "tests/bench/daemon.h"
#include "tests/bench/feed/row_files.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/harness/scratch.h"
#include "tests/bench/trainer.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfMemcpy = 0.80;
constexpr uint64_t kSeed = 1;
constexpr uint32_t kWindow = 4;
constexpr uint64_t kLeadBatches = kWindow + 2;  // untimed, until memory is touched
constexpr uint64_t kEpochsApart = 1000;         // so that no run finds batches of another

RowKind Images(uint32_t side, uint32_t channels, uint32_t batch) {
  const uint64_t bytes = uint64_t{side} * side * channels;
  return {RowFormat::kIdx, "idx", side, side, channels, bytes, bytes, batch};
}
RowKind Vectors(uint32_t width, uint32_t batch) {
  return {RowFormat::kNpy, "npy", 1, width, 1, width * sizeof(float), width * sizeof(float), batch};
}
// uint16 tokens. Each row has one more token, with which the next row begins.
RowKind Tokens(RowFormat format, uint32_t length, uint32_t batch) {
  const bool checked = format == RowFormat::kCheckedTokens;
  return {format,
          checked ? "tokens with a vocabulary" : "tokens",
          1,
          length,
          1,
          2 * (uint64_t{length} + 1),
          2 * uint64_t{length},
          batch};
}

std::vector<RowKind> Kinds() {
  return {Images(28, 1, 1024), Images(224, 3, 64), Vectors(768, 256),
          Tokens(RowFormat::kTokens, 1024, 512), Tokens(RowFormat::kCheckedTokens, 1024, 512)};
}

struct Extents {
  int rounds;
  uint64_t bytes;  // in a file and in a run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{9, 256 * base::kMiB} : Extents{3, 32 * base::kMiB};
}

// Opens one session, leaves its beginning untimed, and returns bytes per second.
absl::StatusOr<double> Feed(Client& client, const RowKind& kind, Order order, uint64_t epoch,
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
  return static_cast<double>(taken * kind.row_bytes) / watch.Seconds();
}

constexpr double kGiga = 1e9;

absl::Status FeedKind(const RowKind& kind, const Extents& extents, Result& result) {
  PENSTOCK_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  PENSTOCK_ASSIGN_OR_RETURN(RowFiles files, RowFiles::Make(folder, kind, extents.bytes));
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
  const std::string rows = absl::StrCat(kind.what, ", rows of ", kind.row_bytes, " bytes, ");
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
  for (const RowKind& kind : Kinds())
    PENSTOCK_RETURN_IF_ERROR(FeedKind(kind, ExtentsOf(extent), result));
  return absl::OkStatus();
}

}  // namespace penstock::bench
