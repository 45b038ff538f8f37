#include "server/app/catalog/fetch_dataset.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "server/source/files/parallel_for.h"

namespace penstock::app {
namespace {

constexpr size_t kFetchedAtOnce = 64;
// Neighbours may lie in one piece, so one thread takes them.
constexpr uint64_t kNeighbours = 64;

class DatasetFetch {
 public:
  DatasetFetch(const source::Dataset& dataset, const plan::Range& range)
      : dataset_(dataset), range_(range) {}

  FetchedSoFar so_far() const { return {.samples = samples_.load(), .bytes = bytes_.load()}; }

  absl::Status Some(uint64_t first) {
    const uint64_t end = std::min(range_.count, first + kNeighbours);
    for (uint64_t i = first; i < end; ++i) {
      if (cancelled.load()) return absl::CancelledError("fetching was cancelled");
      PENSTOCK_RETURN_IF_ERROR(One(i));
    }
    return absl::OkStatus();
  }

  std::atomic<bool> cancelled{false};

 private:
  absl::Status One(uint64_t i) {
    const absl::StatusOr<source::FetchOutcome> one = dataset_.Fetch(range_.first + i);
    if (absl::IsResourceExhausted(one.status())) return NoRoom(one.status());
    PENSTOCK_RETURN_IF_ERROR(one.status());
    bytes_ += one->bytes;
    if (one->is_kept) {
      ++samples_;
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        "there is no cache to fetch into; set PENSTOCK_STORE_CACHE to a folder on a local disk "
        "and PENSTOCK_STORE_CACHE_MAX, then start the daemon again");
  }

  absl::Status NoRoom(const absl::Status& why) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("the cache has no room for all of it: ", samples_.load(), " of ", range_.count,
                     " samples are there, with ", base::FormatBytes(bytes_.load()),
                     " fetched now; what is there of the others was not looked at (", why.message(),
                     "); enlarge PENSTOCK_STORE_CACHE_MAX or free the disk"));
  }

  const source::Dataset& dataset_;
  const plan::Range range_;
  std::atomic<uint64_t> samples_{0}, bytes_{0};
};

}  // namespace

absl::StatusOr<FetchedSoFar> FetchDataset(const source::Dataset& dataset, const plan::Range& range,
                                          const std::function<bool(const FetchedSoFar&)>& watch) {
  if (!dataset.is_remote())
    return absl::FailedPreconditionError(
        "the dataset is on this machine's disks, so there is nothing to fetch");
  DatasetFetch fetch(dataset, range);
  source::ParallelFor parallel_for = {.threads = kFetchedAtOnce};
  parallel_for.watch = [&] {
    if (!watch(fetch.so_far())) fetch.cancelled = true;
    return !fetch.cancelled;
  };
  const uint64_t parts = (range.count + kNeighbours - 1) / kNeighbours;
  PENSTOCK_RETURN_IF_ERROR(
      parallel_for.ForEach(parts, [&](size_t i) { return fetch.Some(i * kNeighbours); }));
  return fetch.so_far();
}

}  // namespace penstock::app
