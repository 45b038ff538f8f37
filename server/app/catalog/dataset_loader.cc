#include "server/app/catalog/dataset_loader.h"

#include <chrono>
#include <utility>

#include "common/telemetry/log.h"
#include "server/app/catalog/asked_once.h"
#include "server/app/catalog/open_mixture.h"
#include "server/source/files/parallel_for.h"

namespace penstock::app {
namespace {

constexpr std::chrono::seconds kPatience(5);  // until others' datasets are closed
constexpr size_t kAskedAtOnce = 16;           // parallel requests, because of network latency

void LogOpened(const std::string& name, const OpenedDataset& opened) {
  if (!opened.warning.empty())
    PENSTOCK_LOG(kWarning, "index_warning", {"dataset", name}, {"reason", opened.warning});
  PENSTOCK_LOG(kInfo, "dataset_opened", {"dataset", name}, {"kind", opened.dataset->kind()},
               {"samples", opened.dataset->samples()},
               {"classes", opened.dataset->classes().size()}, {"from_cache", opened.from_cache});
}

}  // namespace

absl::StatusOr<DatasetLoader::Loaded> DatasetLoader::Load(const NamedDataset& named,
                                                          const OfferedDatasets& offered,
                                                          base::TimePoint asked,
                                                          const Seen& seen) const {
  std::optional<AskedOnce> stores;
  OpeningOptions options = options_;
  if (options_.remote != nullptr) options.remote = &stores.emplace(*options_.remote);
  PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset dataset, Recognise(named, options));
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<DatasetIdentity> identity,
                            QuickIdentity(dataset, options));
  State known = identity ? open_.FindUnchanged(dataset, *identity) : FindExamined(dataset, asked);
  if (known != nullptr) return Loaded{.state = std::move(known), .from_cache = true, .warning = ""};
  const base::TimePoint begun = base::Now();
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset opened,
                            OpenFiles(dataset, options, offered, asked, seen));
  LogOpened(dataset.name, opened);
  Loaded loaded{.state = nullptr,
                .from_cache = opened.from_cache,
                .warning = opened.warning,
                .all_examined = opened.all_examined};
  PENSTOCK_ASSIGN_OR_RETURN(loaded.state,
                            Adopt(dataset, std::move(opened), offered.faults(), seen));
  if (!loaded.all_examined) ForgetChangedRows(*loaded.state);
  if (!identity && !dataset.mixture && loaded.all_examined) open_.NoteExamined(loaded.state, begun);
  return loaded;
}

absl::StatusOr<OpenedDataset> DatasetLoader::OpenFiles(const NamedDataset& dataset,
                                                       const OpeningOptions& options,
                                                       const OfferedDatasets& offered,
                                                       base::TimePoint asked,
                                                       const Seen& seen) const {
  if (dataset.mixture) return OpenParts(dataset, offered, asked, seen);
  return OpenDataset(dataset, options, seen);
}

// The parts are open under their own names too, as long as anyone uses them there.
absl::StatusOr<OpenedDataset> DatasetLoader::OpenParts(const NamedDataset& dataset,
                                                       const OfferedDatasets& offered,
                                                       base::TimePoint asked,
                                                       const Seen& seen) const {
  std::vector<OpenPart> parts;
  for (const std::string& name : dataset.mixture->parts) {
    PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset located, offered.Locate(name, nullptr));
    PENSTOCK_ASSIGN_OR_RETURN(const Loaded part, Load(located, offered, asked, seen));
    PENSTOCK_ASSIGN_OR_RETURN(const plan::Range range, RangeOfNamed(located, *part.state));
    parts.push_back({name, part.state->dataset, range, part.state->files, part.all_examined});
  }
  return OpenMixture(dataset, parts);
}

DatasetLoader::State DatasetLoader::FindExamined(const NamedDataset& dataset,
                                                 base::TimePoint asked) const {
  if (dataset.mixture) return nullptr;
  const absl::StatusOr<std::string> key = KeyOfFiles(dataset);
  return key.ok() ? open_.FindExamined(dataset, *key, asked) : nullptr;
}

// If the dataset is already open and unchanged, under whatever name, its state is used; else a new
// one.
absl::StatusOr<DatasetLoader::State> DatasetLoader::Adopt(const NamedDataset& dataset,
                                                          OpenedDataset opened,
                                                          const feed::FaultPolicy::Options& faults,
                                                          const Seen& seen) const {
  const DatasetIdentity identity = opened.identity;
  const bool may_share = opened.all_examined;
  open_.Name(dataset, identity.key);
  const State known = open_.FindUnchanged(dataset, identity);
  if (known != nullptr && IsSafeToShare(*known, opened)) return known;
  if (source::DatasetCloser::IsCounted(*opened.dataset)) {
    const uint64_t samples = opened.dataset->samples();
    PENSTOCK_RETURN_IF_ERROR(closer_.AwaitRoom(kPatience, [&] { return seen(samples); }));
  }
  PENSTOCK_RETURN_IF_ERROR(open_.Reserve(identity, *opened.dataset));
  return open_.Add(identity, NewState(dataset, std::move(opened), faults), known, may_share);
}

// The bad samples of a Python dataset are remembered only while it is open. Its id may be random,
// so that nobody could ask for the file again.
std::string DatasetLoader::StateDirOf(const NamedDataset& dataset) const {
  return dataset.python ? "" : options_.state_dir;
}

DatasetLoader::State DatasetLoader::NewState(const NamedDataset& dataset, OpenedDataset opened,
                                             const feed::FaultPolicy::Options& faults) const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  source::Quarantine::Loaded loaded = source::Quarantine::Load(
      StateDirOf(dataset),
      source::Quarantine::NumberOf(opened.dataset->digest(), opened.identity.key),
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), options_.access);
  if (!loaded.warning.empty())
    PENSTOCK_LOG(kWarning, "quarantine_lost", {"dataset", dataset.name},
                 {"reason", loaded.warning});
  loaded.quarantine.ForgetOthers([&](uint64_t sample) {
    return sample < opened.dataset->samples() ? opened.dataset->stamp(sample) : 0;
  });
  const uint64_t files = FilesOf(opened);
  const std::vector<source::BadSample> bad_samples = loaded.quarantine.Entries();
  const feed::FaultPolicy policy(opened.dataset->samples(), faults);
  auto state = std::make_shared<feed::DatasetState>(
      feed::DatasetState{dataset.name, closer_.Share(std::move(opened.dataset)),
                         std::move(loaded.quarantine), policy, std::move(opened.mixture), files});
  for (const source::BadSample& bad : bad_samples) {
    if (source::IsDecodedByWorkers(bad.fault)) continue;  // not bad for anybody but a GPU
    if (bad.users.empty()) state->policy.OnRefused(bad.sample);
    for (const uint32_t user : bad.users) state->PolicyOf(user).OnRefused(bad.sample);
  }
  return state;
}

// If not all files could be checked, those whose rows are in slots must be unchanged. All others
// are checked when they are read.
bool DatasetLoader::IsSafeToShare(const feed::DatasetState& state,
                                  const OpenedDataset& opened) const {
  if (opened.all_examined) return true;
  if (!in_slots_) return false;
  const auto samples = in_slots_(state);
  if (!samples) return false;
  source::ParallelFor parallel_for;
  parallel_for.threads = kAskedAtOnce;
  const absl::Status unchanged = parallel_for.ForEach(samples->size(), [&](size_t i) {
    const uint64_t sample = (*samples)[i];
    const bool same = sample >= opened.dataset->samples() || opened.dataset->IsUnchanged(sample);
    return same ? absl::OkStatus() : absl::FailedPreconditionError("changed");
  });
  return unchanged.ok();
}

// A kept row is delivered without a look at its file. So look now.
void DatasetLoader::ForgetChangedRows(const feed::DatasetState& state) const {
  if (kept_rows_ == nullptr) return;
  const std::vector<uint64_t> samples = kept_rows_->SamplesOf(state.files);
  source::ParallelFor parallel_for;
  parallel_for.threads = kAskedAtOnce;
  (void)parallel_for.ForEach(samples.size(), [&](size_t i) {
    if (!state.dataset->IsUnchanged(samples[i])) kept_rows_->Forget(state.files, samples[i]);
    return absl::OkStatus();
  });
}

absl::StatusOr<plan::Range> RangeOfNamed(const NamedDataset& dataset,
                                         const feed::DatasetState& state) {
  const uint64_t samples = state.dataset->samples();
  if (!dataset.range) return plan::Range{.first = 0, .count = samples};
  absl::StatusOr<plan::Range> range = Resolve(*dataset.range, samples);
  if (range.ok()) return range;
  return base::Annotate(range.status(), absl::StrCat("the range of dataset '", dataset.name, "'"));
}

}  // namespace penstock::app
