#include "server/feed/stats/verdict.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/pace.h"

namespace penstock::feed {
namespace {

// A trainer that sleeps nearly all the time says little about its possible speed.
constexpr double kMostStarved = 0.9;
// A window that is so full on average has hardly ever run dry.
constexpr double kFullWindow = 0.9;

std::string Percent(double share) {
  return absl::StrCat(static_cast<int>(std::lround(100 * std::clamp(share, 0.0, 1.0))), " %");
}

std::string Workers(uint32_t count) {
  return absl::StrCat(count, count == 1 ? " more worker" : " more workers");
}

// A trainer that is busy for 1 − s of the time at the current rate needs 1 ∕ (1 − s) of that rate.
uint32_t MoreWorkers(const FlowFigures& figures) {
  const double starved = std::min(figures.starved, kMostStarved);
  const double more = figures.workers * starved / (1 - starved);
  return std::max(1u, static_cast<uint32_t>(std::ceil(more - 1e-9)));
}

// How many more workers have a core each; `wanted` if the number of cores is not known.
uint32_t WithCores(uint32_t wanted, const FlowFigures& figures) {
  if (figures.cores == 0) return wanted;
  return std::min(wanted, figures.cores - std::min(figures.cores, figures.workers));
}

std::string Cores(uint32_t cores) { return absl::StrCat(cores, cores == 1 ? " core" : " cores"); }

std::string DecodingAdvice(const FlowFigures& figures, uint32_t wanted) {
  const uint32_t more = WithCores(wanted, figures);
  if (more == 0)
    return absl::StrCat("the workers are ", Percent(figures.workers_busy),
                        " busy, and there are no more than ", Cores(figures.cores),
                        "; smaller stored images or fewer steps would help");
  if (more < wanted)
    return absl::StrCat(Workers(more), " would help, as many as there are cores (", figures.cores,
                        ")");
  return absl::StrCat(figures.starved > kMostStarved ? "at least " : "", Workers(more),
                      " would hide it");
}

FlowVerdict Decoding(const FlowFigures& figures) {
  const uint32_t more = MoreWorkers(figures);
  return {Bottleneck::kDecoding, more,
          absl::StrCat("decoding is the bottleneck: ",
                       DecodingAdvice(figures, std::max(more, figures.wanted_by_all)))};
}

constexpr char kMakingIs[] = "making batches in Python is the bottleneck: ";

std::string PythonWorkersAreBusy(const FlowFigures& figures) {
  return absl::StrCat(figures.workers == 1 ? "its worker is "
                                           : absl::StrCat("its ", figures.workers, " workers are "),
                      Percent(figures.workers_busy), " busy");
}

// Never advises more workers than there are cores.
FlowVerdict MakingTakesLong(const FlowFigures& figures) {
  const uint32_t cores = figures.cores;
  const uint32_t wanted = MoreWorkers(figures);
  const uint32_t more = WithCores(wanted, figures);
  if (more == 0)
    return {Bottleneck::kMaking, 0,
            absl::StrCat(kMakingIs, PythonWorkersAreBusy(figures), ", and there are no more than ",
                         Cores(cores), "; cheaper samples would help, or native steps")};
  const bool is_enough = more == wanted && figures.starved <= kMostStarved;
  return {Bottleneck::kMaking, more,
          absl::StrCat(
              kMakingIs, PythonWorkersAreBusy(figures), "; ", Workers(more),
              " (num_workers) would ", is_enough ? "hide it" : "help",
              more < wanted ? absl::StrCat(", as many as there are cores (", cores, ")") : "")};
}

FlowVerdict Making(const FlowFigures& figures) {
  if (figures.making.ready == 0)
    return {Bottleneck::kMaking, 0, absl::StrCat(kMakingIs, "its workers are only starting")};
  if (figures.workers_busy >= base::kBusy) return MakingTakesLong(figures);
  if (figures.making.occupancy >= kFullWindow)
    return {Bottleneck::kTrainer, 0, "the trainer is the bottleneck"};
  return {Bottleneck::kWindow, 0,
          absl::StrCat("batches come too late although ", PythonWorkersAreBusy(figures),
                       ": a larger window (prefetch_factor) would let them work ahead")};
}

FlowVerdict Reading(const FlowFigures& figures) {
  return {
      Bottleneck::kReading, 0,
      absl::StrCat(
          "reading is the bottleneck: readers wait for the storage ", Percent(figures.readers_busy),
          " of the time while workers are ", Percent(figures.workers_busy),
          " busy; faster storage would hide it",
          WithCores(1, figures) == 0 ? "" : ", or more workers, whose readers read in parallel")};
}

// "3.1 GB/s"
std::string Rate(double bytes_per_second) {
  if (bytes_per_second >= 1e9) return absl::StrFormat("%.1f GB/s", bytes_per_second / 1e9);
  return absl::StrFormat("%.1f MB/s", bytes_per_second / 1e6);
}

FlowVerdict Store(const StoreFlow& store) {
  const auto requests = static_cast<uint64_t>(std::lround(store.under_way));
  return {Bottleneck::kStore, 0,
          absl::StrCat("the store is the bottleneck: ", Rate(store.bytes_per_second), ", ",
                       requests, requests == 1 ? " request" : " requests", " under way")};
}

FlowVerdict Carrying(const FlowFigures& figures) {
  return {Bottleneck::kReading, 0,
          absl::StrCat("reading is the bottleneck: the threads that copy stored rows are ",
                       Percent(figures.readers_busy),
                       " busy; faster storage or more source.carriers would hide it")};
}

FlowVerdict Window() {
  return {Bottleneck::kWindow, 0,
          "batches come too late although neither reading nor decoding is busy: a larger window "
          "would let the daemon work ahead"};
}

// Who is busy while trainers wait. Requests to a store may be under way without a reader that waits
// for them.
FlowVerdict JudgeBusy(const FlowFigures& figures) {
  const bool uses_copiers = figures.fill_path == FillPath::kRowCopiers;
  const double workers = uses_copiers ? 0 : figures.workers_busy;
  const bool asks_store = figures.store && figures.store->under_way >= 1;
  if (std::max(workers, figures.readers_busy) < base::kBusy)
    return asks_store ? Store(*figures.store) : Window();
  if (workers >= figures.readers_busy) return Decoding(figures);
  if (figures.store) return Store(*figures.store);
  return uses_copiers ? Carrying(figures) : Reading(figures);
}

}  // namespace

FlowVerdict Judge(const FlowFigures& figures) {
  if (figures.stalled > base::Duration::zero()) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(figures.stalled).count();
    return {Bottleneck::kSource, 0,
            absl::StrCat("the source is stalled: for ", seconds, " s, ", figures.stalled_reason)};
  }
  const bool waits = figures.starved >= base::kHeldUp;
  if (figures.fill_path == FillPath::kPython && !figures.making.has_host && waits)
    return {Bottleneck::kMaking, 0,
            "waiting for the host of the dataset to be forked by its trainer"};
  if (!figures.has_data) return {Bottleneck::kUnknown, 0, "too little happened to tell"};
  if (!waits) return {Bottleneck::kTrainer, 0, "the trainer is the bottleneck"};
  if (figures.copying > figures.starved / 2)
    return {Bottleneck::kCopying, 0,
            absl::StrCat("copying to the GPU is the bottleneck: full batches waited for it during ",
                         Percent(figures.copying / figures.starved),
                         " of the time that trainers slept; a greater device depth hides short "
                         "waits")};
  if (figures.fill_path == FillPath::kPython) return Making(figures);
  return JudgeBusy(figures);
}

std::vector<FlowVerdict> JudgeTogether(std::vector<FlowFigures> feeds) {
  uint32_t wanted = 0;
  for (const FlowFigures& figures : feeds) {
    const FlowVerdict alone = Judge(figures);
    if (alone.bottleneck == Bottleneck::kDecoding) wanted = std::max(wanted, alone.more_workers);
  }
  std::vector<FlowVerdict> verdicts;
  for (FlowFigures& figures : feeds) {
    figures.wanted_by_all = wanted;
    verdicts.push_back(Judge(figures));
  }
  return verdicts;
}

}  // namespace penstock::feed
