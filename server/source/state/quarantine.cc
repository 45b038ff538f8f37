#include "server/source/state/quarantine.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/hash.h"
#include "common/posix/failpoint.h"
#include "server/source/state/quarantine_text.h"
#include "server/source/state/state_file.h"

namespace penstock::source {
namespace {

constexpr size_t kMaxFileBytes = size_t{512} << 20;  // far more than full lists need

absl::StatusOr<QuarantineText> Parse(const absl::StatusOr<std::string>& text, uint64_t dataset) {
  PENSTOCK_RETURN_IF_ERROR(text.status());
  PENSTOCK_ASSIGN_OR_RETURN(QuarantineText content, ParseQuarantine(*text));
  if (content.dataset != dataset)
    return absl::DataLossError("the quarantine file is of another dataset");
  return content;
}

// Keeps the damaged file for inspection; returns what became of it.
std::string MoveAside(const std::string& path) {
  const std::string aside = absl::StrCat(path, ".damaged");
  if (std::rename(path.c_str(), aside.c_str()) == 0) return absl::StrCat("moved to '", aside, "'");
  return "it could not be moved aside and will be replaced";
}

// Whether the list has the sample for this user.
bool HoldsFor(const std::map<uint64_t, BadSample>& list, uint64_t sample, uint32_t user) {
  const auto found = list.find(sample);
  if (found == list.end()) return false;
  const std::vector<uint32_t>& users = found->second.users;
  return users.empty() || std::binary_search(users.begin(), users.end(), user);
}

}  // namespace

struct Quarantine::FromFile {
  absl::StatusOr<QuarantineText> content;
  std::string moved;  // what became of a damaged file
};

Quarantine::FromFile Quarantine::TakeFile(const std::string& path, uint64_t dataset,
                                          const Step& step) {
  FromFile file{.content = Parse(ReadStateFile(path, kMaxFileBytes, step), dataset), .moved = {}};
  if (absl::IsDataLoss(file.content.status())) file.moved = MoveAside(path);
  return file;
}

bool IsQuarantined(base::Fault fault) {
  const auto facts = base::FactsOf(fault);
  return facts && facts->follows == base::FaultFollows::kTriedOnceMore;
}

bool IsDecodedByWorkers(base::Fault fault) {
  const auto facts = base::FactsOf(fault);
  return facts && facts->follows == base::FaultFollows::kDecodedByWorkers;
}

Quarantine::Loaded Quarantine::Load(const std::string& state_dir, uint64_t dataset,
                                    int64_t now_unix_ms, std::shared_ptr<StateAccess> access) {
  Loaded loaded;
  Quarantine& quarantine = loaded.quarantine;
  quarantine.dataset_ = dataset;
  if (state_dir.empty()) return loaded;
  quarantine.folder_ = absl::StrCat(state_dir, "/quarantine");
  quarantine.path_ = absl::StrFormat("%s/%016x.quarantine", quarantine.folder_, dataset);
  quarantine.access_ = std::move(access);
  FromFile file = quarantine.Take();
  if (absl::IsNotFound(file.content.status())) return loaded;
  if (!file.content.ok()) {
    quarantine.BeginAnew(file.content.status(), file.moved, now_unix_ms, loaded.warning);
    return loaded;
  }
  quarantine.version_ = file.content->version;
  for (const BadSample& bad : file.content->entries) quarantine.Keep(bad);
  quarantine.CountForWorkers();
  return loaded;
}

// A text that is still waiting to be written is newer than the file.
Quarantine::FromFile Quarantine::Take() const {
  if (access_ != nullptr)
    if (const auto waiting = access_->Waiting(path_)) return {Parse(*waiting, dataset_), ""};
  auto file = Ask<FromFile>(
      access_, [path = path_, dataset = dataset_](const Step& step) -> absl::StatusOr<FromFile> {
        return TakeFile(path, dataset, step);
      });
  if (!file.ok()) return {file.status(), ""};
  return *std::move(file);
}

// Damaged files are moved aside. A file that cannot be read now may still be intact, so it stays,
// and nothing is saved over it.
void Quarantine::BeginAnew(const absl::Status& why, const std::string& moved, int64_t now_unix_ms,
                           std::string& warning) {
  version_ = static_cast<uint64_t>(now_unix_ms);
  warning = absl::StrCat("'", path_, "': ", why.message());
  if (absl::IsDataLoss(why)) {
    absl::StrAppend(&warning, "; ", moved, "; the quarantine begins anew, empty");
    is_saved_ = false;
    (void)
        Save();  // the version must be durable; if it cannot be written now, the next Save retries
  } else {
    absl::StrAppend(&warning, "; the quarantine begins empty and is not saved");
    path_.clear();
  }
}

// A record that already counts for everybody stays as it is.
Quarantine::Added Quarantine::AddUsers(const std::vector<uint32_t>& users, BadSample& known) {
  if (known.users.empty()) return Added::kKnown;
  if (users.empty()) {
    known.users.clear();
    return Added::kNews;
  }
  Added added = Added::kKnown;
  for (const uint32_t user : users) {
    const auto place = std::lower_bound(known.users.begin(), known.users.end(), user);
    if (place != known.users.end() && *place == user) continue;
    if (known.users.size() >= kMaxUsers) return Added::kNoPlace;
    known.users.insert(place, user);
    added = Added::kNews;
  }
  return added;
}

bool Quarantine::Contains(uint64_t sample, uint32_t user) const {
  return HoldsFor(quarantined_, sample, user);
}

bool Quarantine::IsForWorkers(uint64_t sample, uint32_t user) const {
  return HoldsFor(for_workers_, sample, user);
}

Quarantine::Added Quarantine::Add(const BadSample& bad) {
  if (IsDecodedByWorkers(bad.fault)) return AddForWorkers(bad);
  const bool quarantines = IsQuarantined(bad.fault);
  const auto known = quarantined_.find(bad.sample);
  if (known != quarantined_.end() && !quarantines) return Added::kKnown;
  if (known != quarantined_.end()) {
    const Added added = AddUsers(bad.users, known->second);
    if (added != Added::kNews) return added;
    ++version_;
    is_saved_ = false;
    return added;
  }
  if (!quarantines) {
    if (const auto refused = refused_.find(bad.sample); refused != refused_.end()) {
      const Added added = AddUsers(bad.users, refused->second);
      if (added == Added::kNews) is_saved_ = false;
      return added;
    }
    if (refused_.size() >= kMaxRefused) return Added::kNoPlace;
  } else {
    if (quarantined_.size() >= kMaxQuarantined) return Added::kNoPlace;
    ++version_;
  }
  Keep(bad);
  if (quarantines)
    if (const auto refused = refused_.extract(bad.sample)) --by_fault_[refused.mapped().fault];
  is_saved_ = false;
  return Added::kNews;
}

Quarantine::Added Quarantine::AddForWorkers(const BadSample& bad) {
  for (const uint32_t user : bad.users)
    if (for_workers_of_[user] >= kMaxForWorkersOfUser && !IsForWorkers(bad.sample, user))
      return Added::kNoPlace;
  if (const auto known = for_workers_.find(bad.sample); known != for_workers_.end()) {
    if (const Added added = AddUsers(bad.users, known->second); added != Added::kNews) return added;
  } else {
    if (for_workers_.size() >= kMaxForWorkers) return Added::kNoPlace;
    Keep(bad);
  }
  for (const uint32_t user : bad.users) ++for_workers_of_[user];
  ++version_;
  ++for_workers_changes_;
  is_saved_ = false;
  return Added::kNews;
}

Quarantine::List& Quarantine::ListOf(base::Fault fault) {
  if (IsDecodedByWorkers(fault)) return for_workers_;
  return IsQuarantined(fault) ? quarantined_ : refused_;
}

void Quarantine::Keep(const BadSample& bad) {
  const bool is_known = Find(bad.sample) != nullptr || for_workers_.contains(bad.sample);
  if (!ListOf(bad.fault).emplace(bad.sample, bad).second) return;
  ++by_fault_[bad.fault];
  if (!is_known) ++samples_;
}

const BadSample* Quarantine::Find(uint64_t sample) const {
  for (const auto* list : {&quarantined_, &refused_})
    if (const auto found = list->find(sample); found != list->end()) return &found->second;
  return nullptr;
}

size_t Quarantine::SamplesIn(uint64_t first, uint64_t count) const {
  if (counted_.version != version_ || counted_.samples != samples_)
    counted_ = {.version = version_, .samples = samples_};
  const auto [at, is_new] = counted_.ranges.try_emplace({first, count}, 0);
  if (is_new) at->second = CountIn(first, count);
  return at->second;
}

size_t Quarantine::CountIn(uint64_t first, uint64_t count) const {
  size_t samples = 0;
  for (const List* list : {&quarantined_, &refused_, &for_workers_}) {
    const auto end = list->lower_bound(first + count);
    for (auto each = list->lower_bound(first); each != end; ++each)
      samples += list != &for_workers_ || Find(each->first) == nullptr ? 1 : 0;
  }
  return samples;
}

std::vector<BadSample> Quarantine::Entries() const { return Entries(0, samples_); }

std::vector<BadSample> Quarantine::Entries(uint64_t from, size_t at_most) const {
  struct Rest {
    List::const_iterator next, end;
  };
  std::array<Rest, 3> lists;
  std::ranges::transform(std::array{&quarantined_, &refused_, &for_workers_}, lists.begin(),
                         [from](const List* list) {
                           return Rest{list->lower_bound(from), list->end()};
                         });
  std::vector<BadSample> entries;
  while (entries.size() < at_most) {
    const Rest* first = nullptr;
    for (const Rest& list : lists)
      if (list.next != list.end && (first == nullptr || list.next->first < first->next->first))
        first = &list;
    if (first == nullptr) break;
    entries.push_back(first->next->second);
    for (Rest& list : lists)
      if (list.next != list.end && list.next->first == entries.back().sample) ++list.next;
  }
  return entries;
}

// With both entries of a sample that is in two lists.
std::vector<BadSample> Quarantine::AllEntries() const {
  std::vector<BadSample> entries;
  for (const List* list : {&quarantined_, &refused_, &for_workers_})
    for (const auto& [sample, bad] : *list) entries.push_back(bad);
  std::ranges::stable_sort(entries, {}, &BadSample::sample);
  return entries;
}

size_t Quarantine::CountSamples() const {
  const auto is_elsewhere = [this](const auto& entry) { return Find(entry.first) != nullptr; };
  return refused_.size() + quarantined_.size() + for_workers_.size() -
         static_cast<size_t>(std::ranges::count_if(for_workers_, is_elsewhere));
}

void Quarantine::CountForWorkers() {
  for_workers_of_.clear();
  for (const auto& [sample, bad] : for_workers_)
    for (const uint32_t user : bad.users) ++for_workers_of_[user];
}

uint64_t Quarantine::NumberOf(uint64_t digest, absl::string_view place) {
  base::Hasher hasher;
  hasher.Add(digest);
  hasher.Add(place);
  return hasher.Digest();
}

size_t Quarantine::ForgetOthers(const std::function<uint64_t(uint64_t)>& stamp_of) {
  const size_t before = samples_;
  const auto forget = [&](List& list) {
    return std::erase_if(list, [&](const auto& entry) {
      if (entry.second.stamp == stamp_of(entry.first)) return false;
      --by_fault_[entry.second.fault];
      return true;
    });
  };
  const size_t refused = forget(refused_);
  const size_t decisive = forget(quarantined_) + forget(for_workers_);
  if (decisive > 0) ++version_;
  if (refused + decisive > 0) is_saved_ = false;
  samples_ = CountSamples();
  CountForWorkers();
  return before - samples_;
}

size_t Quarantine::Clear() {
  const size_t cleared = std::exchange(samples_, 0);
  if (cleared > 0) ++version_;
  for (List* list : {&refused_, &quarantined_, &for_workers_}) list->clear();
  by_fault_.clear();
  for_workers_of_.clear();
  if (cleared > 0) is_saved_ = false;
  PENSTOCK_FAILPOINT("quarantine.cleared");
  return cleared;
}

absl::Status Quarantine::Save() {
  if (is_saved_ || path_.empty()) return absl::OkStatus();
  PENSTOCK_FAILPOINT_RETURN("quarantine.save");
  std::string text = FormatQuarantine({dataset_, version_, AllEntries()});
  if (access_ != nullptr) {
    PENSTOCK_RETURN_IF_ERROR(access_->WriteLater(path_, std::move(text)));
    is_saved_ = true;
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(MakeFolders(folder_));
  PENSTOCK_RETURN_IF_ERROR(WriteStateFile(path_, std::as_bytes(std::span(text))));
  is_saved_ = true;
  return absl::OkStatus();
}

}  // namespace penstock::source
