#include "server/app/catalog/catalog.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/telemetry/log.h"
#include "server/app/catalog/open_mixture.h"
#include "server/rpc/access/refusal.h"

namespace penstock::app {
namespace {

bool IsInAGroup(const NamedDataset& dataset, const Opener& opener) {
  if (dataset.groups.empty()) return true;
  return std::any_of(dataset.groups.begin(), dataset.groups.end(), [&](gid_t group) {
    return std::find(opener.groups.begin(), opener.groups.end(), group) != opener.groups.end();
  });
}

absl::Status Ending() { return absl::UnavailableError("the daemon is ending"); }

// Where what is called so is opened, one after the other.
std::string DeskOf(const NamedDataset& dataset) {
  return absl::StrCat("open ", dataset.name, "\n", dataset.path);
}

}  // namespace

Catalog::Catalog(Options options)
    : options_(std::move(options)),
      access_(std::make_shared<source::StateAccess>()),
      offer_(std::make_shared<const Offer>(options_.offer)),
      desks_(options_.desks) {}

Catalog::~Catalog() { Stop(); }

OpeningOptions Catalog::OpeningOf() const {
  return {.roots = options_.roots,
          .state_dir = options_.state_dir,
          .access = access_,
          .index_threads = options_.index_threads,
          .max_unpacked_bytes = options_.max_unpacked_bytes,
          .look_for = options_.look_for};
}

void Catalog::SetOffer(Offer offer) {
  auto next = std::make_shared<const Offer>(std::move(offer));
  base::MutexLock lock(mutex_);
  offer_ = std::move(next);
}

std::shared_ptr<const Catalog::Offer> Catalog::offer() const {
  base::MutexLock lock(mutex_);
  return offer_;
}

void Catalog::Close() {
  stopping_.store(true);
  desks_.Close();
}

void Catalog::Stop() {
  Close();
  desks_.Stop();
}

uint64_t Catalog::examinations() const {
  base::MutexLock lock(mutex_);
  return examinations_;
}

void Catalog::Open(const std::string& dataset, const Opener& opener, rpc::Callback<State> done) {
  const absl::StatusOr<NamedDataset> located = Locate(dataset, &opener);
  if (!located.ok()) return done(located.status());
  const absl::Status taken =
      desks_.Do(DeskOf(*located), opener.uid, [this, named = *located, done, asked = base::Now()] {
        if (stopping()) return done(Ending());
        absl::StatusOr<Opened> opened =
            OpenNow(named, asked, [this](uint64_t) { return !stopping(); });
        if (!opened.ok()) return done(opened.status());
        done(opened->state);
      });
  if (!taken.ok()) done(taken);
}

void Catalog::Read(const feed::DatasetState& state, const Opener& opener,
                   std::function<void(absl::Status)> job) {
  const absl::Status taken = desks_.Do(absl::StrCat("read ", state.name), opener.uid, [this, job] {
    job(stopping() ? Ending() : absl::OkStatus());
  });
  if (!taken.ok()) job(taken);
}

absl::StatusOr<Catalog::State> Catalog::FindOpen(const std::string& dataset,
                                                 const Opener& opener) const {
  PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset located, Locate(dataset, &opener));
  base::MutexLock lock(mutex_);
  const auto configured = configured_.find(located.path);
  const auto found =
      open_.find(configured == configured_.end() ? located.path : configured->second);
  return found == open_.end() ? nullptr : found->second.state;
}

void Catalog::Index(const std::string& dataset, const Opener& opener,
                    std::function<bool()> cancelled, rpc::Callback<rpc::IndexProgress> progress) {
  const absl::StatusOr<NamedDataset> located = Locate(dataset, &opener);
  if (!located.ok()) return progress(located.status());
  const auto index = [this, named = *located, cancelled, progress, asked = base::Now()] {
    if (stopping()) return progress(Ending());
    absl::StatusOr<Opened> opened =
        OpenNow(named, asked, [this, &cancelled, &progress](uint64_t files) {
          progress(rpc::IndexProgress{.files_seen = files});
          return !stopping() && !cancelled();
        });
    if (!opened.ok()) return progress(opened.status());
    const source::Dataset& made = *opened->state->dataset;
    progress(rpc::IndexProgress{.files_seen = made.samples(),
                                .done = true,
                                .from_cache = opened->from_cache,
                                .samples = made.samples(),
                                .classes = static_cast<uint32_t>(made.classes().size()),
                                .warning = opened->warning});
  };
  const absl::Status taken = desks_.Do(DeskOf(*located), opener.uid, index);
  if (!taken.ok()) progress(taken);
}

// Where a dataset lies, and whether the opener may have it. No opener: the daemon itself.
absl::StatusOr<NamedDataset> Catalog::Locate(const std::string& dataset,
                                             const Opener* opener) const {
  if (dataset.empty()) return absl::InvalidArgumentError("no dataset was named");
  if (source::IsSynthetic(dataset)) return SyntheticNamed(dataset);
  const bool names_files = NamesFiles(dataset);
  if (!options_.any_path && (names_files || dataset.front() == '/'))
    return absl::PermissionDeniedError(absl::StrCat(
        "'", dataset, names_files ? "' names files" : "' is a path",
        ", and this daemon serves datasets by name only; known are: ", NamesFor(opener)));
  if (names_files) return FilesNamed(dataset);
  if (dataset.front() == '/')
    return NamedDataset{.name = dataset, .path = dataset, .groups = {}, .by_path = true};
  const auto offer = this->offer();
  for (const NamedDataset& known : offer->datasets) {
    if (known.name != dataset) continue;
    if (opener == nullptr || MayOpen(known, *offer, *opener)) return known;
    return rpc::Refused(UnknownDataset(dataset, opener), rpc::Refusal::kNotInGroup,
                        absl::StrCat("user ", opener->uid, " is in none of the groups of dataset '",
                                     dataset, "' or of a part of it"));
  }
  return UnknownDataset(dataset, opener);
}

bool Catalog::IsKeptFrom(const std::string& dataset, const Opener& opener) const {
  return Locate(dataset, &opener).status().GetPayload(rpc::kRefusalUrl).has_value();
}

// A mixture opens no part of it to those who may not have it.
bool Catalog::MayOpen(const NamedDataset& dataset, const Offer& offer, const Opener& opener) {
  if (opener.is_operator) return true;
  if (!IsInAGroup(dataset, opener)) return false;
  if (!dataset.mixture) return true;
  const auto& parts = dataset.mixture->parts;
  return std::all_of(offer.datasets.begin(), offer.datasets.end(), [&](const NamedDataset& each) {
    const bool is_part = std::find(parts.begin(), parts.end(), each.name) != parts.end();
    return !is_part || IsInAGroup(each, opener);
  });
}

absl::StatusOr<plan::Range> Catalog::RangeOf(const std::string& dataset,
                                             const feed::DatasetState& state) const {
  const uint64_t samples = state.dataset->samples();
  PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset named, Locate(dataset, nullptr));
  if (!named.range) return plan::Range{.first = 0, .count = samples};
  absl::StatusOr<plan::Range> range = Resolve(*named.range, samples);
  if (range.ok()) return range;
  return base::Annotate(range.status(), absl::StrCat("the range of dataset '", dataset, "'"));
}

// The same words whether there is none or it is not for this opener: that it exists is none of
// their business.
absl::Status Catalog::UnknownDataset(const std::string& dataset, const Opener* opener) const {
  return absl::NotFoundError(absl::StrCat(
      "no dataset '", dataset, "' that user ", opener == nullptr ? ::geteuid() : opener->uid,
      " may open; known are: ", NamesFor(opener),
      options_.any_path ? "; an absolute path works, too" : "",
      "; the configuration's key datasets adds one, and its groups say who may open it"));
}

std::string Catalog::NamesFor(const Opener* opener) const {
  std::vector<std::string> names;
  const auto offer = this->offer();
  for (const NamedDataset& known : offer->datasets)
    if (opener == nullptr || MayOpen(known, *offer, *opener)) names.push_back(known.name);
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

absl::StatusOr<Catalog::Opened> Catalog::OpenNow(const NamedDataset& named, base::TimePoint asked,
                                                 std::function<bool(uint64_t)> seen) {
  PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset dataset, Recognise(named, OpeningOf()));
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<DatasetIdentity> identity,
                            QuickIdentity(dataset, OpeningOf()));
  if (identity) {
    if (State known = FindUnchanged(dataset, *identity)) return Opened{std::move(known), true, ""};
  } else if (State known = FindExamined(dataset, asked)) {
    return Opened{std::move(known), true, ""};
  }
  const base::TimePoint begun = base::Now();
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset opened, OpenFiles(dataset, asked, seen));
  if (!opened.warning.empty())
    PENSTOCK_LOG(kWarning, "index_warning", {"dataset", dataset.name}, {"reason", opened.warning});
  PENSTOCK_LOG(kInfo, "dataset_opened", {"dataset", dataset.name}, {"kind", opened.dataset->kind()},
               {"samples", opened.dataset->samples()},
               {"classes", opened.dataset->classes().size()}, {"from_cache", opened.from_cache});
  Opened result;
  result.from_cache = opened.from_cache;
  result.warning = opened.warning;
  result.all_examined = opened.all_examined;
  PENSTOCK_ASSIGN_OR_RETURN(result.state, Adopt(dataset, std::move(opened)));
  if (!identity && !dataset.mixture && result.all_examined) NoteExamined(result.state, begun);
  return result;
}

absl::StatusOr<OpenedDataset> Catalog::OpenFiles(const NamedDataset& dataset, base::TimePoint asked,
                                                 const std::function<bool(uint64_t)>& seen) {
  if (dataset.mixture) return OpenParts(dataset, asked, seen);
  return OpenDataset(dataset, OpeningOf(), seen);
}

// The parts are open by their own names, too, as long as they are wanted there.
absl::StatusOr<OpenedDataset> Catalog::OpenParts(const NamedDataset& dataset, base::TimePoint asked,
                                                 const std::function<bool(uint64_t)>& seen) {
  std::vector<OpenPart> parts;
  for (const std::string& name : dataset.mixture->parts) {
    PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset located, Locate(name, nullptr));
    PENSTOCK_ASSIGN_OR_RETURN(const Opened part, OpenNow(located, asked, seen));
    PENSTOCK_ASSIGN_OR_RETURN(const plan::Range range, RangeOf(name, *part.state));
    parts.push_back({name, part.state->dataset, range, part.state->files, part.all_examined});
  }
  return OpenMixture(dataset, parts);
}

std::vector<DatasetView> Catalog::List(const std::optional<Opener>& opener) const {
  std::vector<DatasetView> views;
  base::MutexLock lock(mutex_);
  std::set<std::string> shown;
  for (const NamedDataset& known : offer_->datasets) {
    if (opener && !MayOpen(known, *offer_, *opener)) continue;
    const auto path = configured_.find(known.path);
    const auto found = path == configured_.end() ? open_.end() : open_.find(path->second);
    views.push_back({known.name, known.path, found == open_.end() ? nullptr : found->second.state,
                     known.range});
    if (found != open_.end()) shown.insert(found->first);
  }
  // What no name of the configuration means (any more) was opened by a path or a text.
  const bool sees_all = !opener || opener->is_operator || options_.any_path;
  for (const auto& [key, entry] : open_)
    if (!shown.contains(key) && (sees_all || source::IsSynthetic(entry.state->name)))
      views.push_back({entry.state->name, key, entry.state, {}});
  return views;
}

}  // namespace penstock::app
