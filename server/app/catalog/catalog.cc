#include "server/app/catalog/catalog.h"

#include <utility>

#include "server/app/catalog/export_indexes.h"
#include "server/app/catalog/fetch_dataset.h"

namespace penstock::app {
namespace {

absl::Status Ending() { return absl::UnavailableError("the daemon is ending"); }

// The queue in which datasets with this name are opened.
std::string DeskOf(const NamedDataset& dataset) {
  return absl::StrCat("open ", dataset.name, "\n", dataset.path);
}

// The queue in which their indexes are exported.
std::string ExportDeskOf(const NamedDataset& dataset) {
  return absl::StrCat("export ", DeskOf(dataset));
}

// The queue in which they are fetched.
std::string FetchDeskOf(const NamedDataset& dataset) {
  return absl::StrCat("fetch ", DeskOf(dataset));
}

OpeningOptions ToOpeningOptions(const Catalog::Options& options,
                                std::shared_ptr<source::StateAccess> access) {
  return {.roots = options.roots,
          .state_dir = options.state_dir,
          .access = std::move(access),
          .index_threads = options.index_threads,
          .max_unpacked_bytes = options.max_unpacked_bytes,
          .look_for = options.look_for,
          .new_parsers = options.new_parsers,
          .remote = options.remote};
}

rpc::IndexProgress DoneOf(const DatasetLoader::Loaded& loaded) {
  const source::Dataset& made = *loaded.state->dataset;
  return {.files_seen = made.samples(),
          .done = true,
          .from_cache = loaded.from_cache,
          .samples = made.samples(),
          .classes = static_cast<uint32_t>(made.classes().size()),
          .warning = loaded.warning};
}

}  // namespace

Catalog::Catalog(const Options& options)
    : any_path_(options.any_path),
      access_(std::make_shared<source::StateAccess>()),
      closer_(std::make_shared<source::DatasetCloser>(options.max_datasets)),
      open_(options.max_datasets),
      opening_(ToOpeningOptions(options, access_)),
      loader_(opening_, options.in_slots, options.kept_rows, open_, *closer_),
      callers_(options.asked_again_within),
      desks_(options.desks) {
  SetOffer(options.offer);
}

Catalog::~Catalog() {
  Stop();
  closer_->Stop();
}

void Catalog::SetOffer(Offer offer) {
  open_.SetConfigured(offer.datasets.size());
  auto next = std::make_shared<const OfferedDatasets>(std::move(offer), any_path_);
  const base::MutexLock lock(mutex_);
  offered_ = std::move(next);
}

std::shared_ptr<const OfferedDatasets> Catalog::offered() const {
  const base::MutexLock lock(mutex_);
  return offered_;
}

void Catalog::Close() {
  stopping_.store(true);
  desks_.Close();
}

void Catalog::Stop() {
  Close();
  desks_.Stop();
}

Catalog::SharedCaller Catalog::Join(const NamedDataset& dataset, Cancelled cancelled) {
  return std::make_shared<const WaitingCallers::WaitingCaller>(callers_, DeskOf(dataset),
                                                               std::move(cancelled));
}

// `seen` gets the number of files found so far.
absl::StatusOr<DatasetLoader::Loaded> Catalog::Load(
    const NamedDataset& dataset, base::TimePoint asked, const WaitingCallers::WaitingCaller& caller,
    const std::function<void(uint64_t)>& seen) const {
  if (stopping()) return Ending();
  if (!caller.IsWanted()) return absl::CancelledError("the call was cancelled");
  return loader_.Load(dataset, *offered(), asked, [&](uint64_t files) {
    seen(files);
    return !stopping() && caller.IsWanted();
  });
}

void Catalog::Open(const std::string& dataset, const Opener& opener,
                   const rpc::Callback<State>& done, Cancelled cancelled) {
  const absl::StatusOr<NamedDataset> located = offered()->Locate(dataset, &opener);
  if (!located.ok()) return done(located.status());
  const SharedCaller caller = Join(*located, std::move(cancelled));
  const auto open = [this, named = *located, caller, done, asked = base::Now()] {
    const auto loaded = Load(named, asked, *caller, [](uint64_t) {});
    if (!loaded.ok()) return done(loaded.status());
    done(loaded->state);
  };
  const absl::Status taken = desks_.Do(DeskOf(*located), opener.uid, open);
  if (!taken.ok()) done(taken);
}

void Catalog::OpenForSession(const std::string& dataset, const Opener& opener,
                             const rpc::Callback<State>& done, Cancelled cancelled) {
  const absl::StatusOr<NamedDataset> located = offered()->Locate(dataset, &opener);
  if (!located.ok()) return done(located.status());
  State known = described_.Find(DeskOf(*located), opener.uid, base::Now());
  if (known != nullptr && !stopping()) return done(std::move(known));
  Open(dataset, opener, done, std::move(cancelled));
}

void Catalog::OpenToDescribe(const std::string& dataset, const Opener& opener,
                             const rpc::Callback<State>& done, Cancelled cancelled) {
  const absl::StatusOr<NamedDataset> located = offered()->Locate(dataset, &opener);
  if (!located.ok()) return done(located.status());
  const auto describe = [this, desk = DeskOf(*located), user = opener.uid,
                         done](absl::StatusOr<State> state) {
    if (state.ok()) described_.Note(desk, user, *state, base::Now());
    done(std::move(state));
  };
  Open(dataset, opener, describe, std::move(cancelled));
}

void Catalog::Index(const rpc::IndexRequest& request, const Opener& opener, Cancelled cancelled,
                    const rpc::Callback<rpc::IndexProgress>& progress) {
  const absl::StatusOr<NamedDataset> located = offered()->Locate(request.dataset, &opener);
  if (!located.ok()) return progress(located.status());
  if (request.export_indexes) return Export(*located, opener.uid, cancelled, progress);
  // Unlike an opening, a fetch is of no use to others once its caller has gone.
  const Cancelled fetch_cancelled = request.fetch ? cancelled : nullptr;
  const SharedCaller caller = Join(*located, std::move(cancelled));
  const auto index = [this, named = *located, caller, progress, fetch_cancelled, user = opener.uid,
                      asked = base::Now()] {
    const auto loaded = Load(named, asked, *caller, [&progress](uint64_t files) {
      progress(rpc::IndexProgress{.files_seen = files});
    });
    if (!loaded.ok()) return progress(loaded.status());
    if (fetch_cancelled == nullptr) return progress(DoneOf(*loaded));
    Fetch(*loaded, named, user, fetch_cancelled, progress);
  };
  const absl::Status taken = desks_.Do(DeskOf(*located), opener.uid, index);
  if (!taken.ok()) progress(taken);
}

// Takes as long as reading the shards does, and the caller who gets the indexes.
void Catalog::Export(const NamedDataset& named, uid_t user, const Cancelled& cancelled,
                     const rpc::Callback<rpc::IndexProgress>& progress) {
  const auto export_all = [this, named, cancelled, progress] {
    std::atomic<uint64_t> samples{0};
    const auto watch = [&](uint64_t found) {
      progress(rpc::IndexProgress{.files_seen = found});
      return !stopping() && !cancelled();
    };
    const auto take = [&](source::ExportedIndex index, size_t shards) -> absl::Status {
      if (stopping() || cancelled()) return absl::CancelledError("the call was cancelled");
      samples += index.samples;
      progress(rpc::IndexProgress{.files_seen = samples.load(),
                                  .exported = rpc::ExportedShard{.shard = index.shard,
                                                                 .samples = index.samples,
                                                                 .index = std::move(index.file)},
                                  .shards = shards});
      return absl::OkStatus();
    };
    const absl::StatusOr<size_t> all = ExportIndexes(named, opening_, watch, take);
    if (!all.ok()) return progress(all.status());
    progress(rpc::IndexProgress{
        .files_seen = samples.load(), .done = true, .samples = samples.load(), .shards = *all});
  };
  const absl::Status taken = desks_.Do(ExportDeskOf(named), user, export_all);
  if (!taken.ok()) progress(taken);
}

// Takes as long as the store does.
void Catalog::Fetch(const DatasetLoader::Loaded& loaded, const NamedDataset& named, uid_t user,
                    const Cancelled& cancelled, const rpc::Callback<rpc::IndexProgress>& progress) {
  const absl::StatusOr<plan::Range> range = RangeOfNamed(named, *loaded.state);
  if (!range.ok()) return progress(range.status());
  const auto fetch = [this, loaded, range = *range, cancelled, progress] {
    const auto say = [&](rpc::IndexProgress said, const FetchedSoFar& fetched) {
      said.samples_to_fetch = range.count;
      said.samples_fetched = fetched.samples;
      said.bytes_fetched = fetched.bytes;
      progress(said);
    };
    const auto all = FetchDataset(*loaded.state->dataset, range, [&](const FetchedSoFar& fetched) {
      say({}, fetched);
      return !stopping() && !cancelled();
    });
    if (!all.ok()) return progress(all.status());
    say(DoneOf(loaded), *all);
  };
  const absl::Status taken = desks_.Do(FetchDeskOf(named), user, fetch);
  if (!taken.ok()) progress(taken);
}

void Catalog::Read(const feed::DatasetState& state, const Opener& opener,
                   const std::function<void(absl::Status)>& job) {
  const absl::Status taken = desks_.Do(absl::StrCat("read ", state.name), opener.uid, [this, job] {
    job(stopping() ? Ending() : absl::OkStatus());
  });
  if (!taken.ok()) job(taken);
}

absl::StatusOr<Catalog::State> Catalog::FindOpen(const std::string& dataset,
                                                 const Opener& opener) const {
  PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset located, offered()->Locate(dataset, &opener));
  return open_.Find(located);
}

absl::StatusOr<plan::Range> Catalog::RangeOf(const std::string& dataset,
                                             const feed::DatasetState& state) const {
  PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset named, offered()->Locate(dataset, nullptr));
  return RangeOfNamed(named, state);
}

// A dataset under none of the (current) configured names was opened by path or text. Nothing
// records who opened it.
std::vector<DatasetView> Catalog::List(const std::optional<Opener>& opener) const {
  const auto offered = this->offered();
  return open_.List(offered->For(opener),
                    [&](const State&) { return offered->SeesUnnamed(opener); });
}

}  // namespace penstock::app
