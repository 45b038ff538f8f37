#include "server/store/files/opened_stores.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/limits.h"
#include "common/telemetry/log.h"

namespace penstock::store {
namespace {

// Connections may take a quarter of the files that this process may open.
uint32_t MostConnections() {
  return static_cast<uint32_t>(std::clamp<uint64_t>(posix::MaxOpenFiles() / 4, 16, 512));
}

Transfers::Options WithinFiles(Transfers::Options options) {
  options.most_connections = std::min(options.most_connections, MostConnections());
  return options;
}

}  // namespace

OpenedStores::OpenedStores(const Curl& curl, const StoreSettings& settings,
                           std::unique_ptr<CacheFolder> folder, const Pieces::Options& options)
    : most_held_bytes(options.most_bytes),
      most_cache_bytes(settings.cache_bytes),
      cache(std::move(folder)),
      known(cache == nullptr ? "" : absl::StrCat(settings.cache_folder, "/", kKnownFile)),
      transfers(curl, WithinFiles(settings.transfers)),
      rings([this](TransferRequest request) { return transfers.Perform(std::move(request)); }),
      objects(transfers, {.places = rings.PlacesFor(settings.places)}),
      pieces(WithSoon(options)) {
  passes.most_ahead = options.most_bytes / 2;
}

void OpenedStores::Stop() {
  rings.Stop();
  transfers.Stop();
}

// Pieces that are expected one after another begin together.
Pieces::Options OpenedStores::WithSoon(Pieces::Options options) {
  options.most_at_once = std::min(options.most_at_once, MostConnections());
  options.soon = [this](std::function<void()> begin) { transfers.Post(std::move(begin)); };
  return options;
}

StoreCounts OpenedStores::counts() const {
  StoreCounts all = {.transfers = transfers.counts(),
                     .retries = objects.retries(),
                     .pieces = pieces.counts(),
                     .most_held_bytes = most_held_bytes,
                     .has_cache = cache != nullptr,
                     .cache = cache != nullptr ? cache->counts() : CacheFolder::Counts{},
                     .most_cache_bytes = most_cache_bytes,
                     .no_mirrors = no_mirrors.load()};
  std::copy(index_files.begin(), index_files.end(), all.index_files.begin());
  return all;
}

template <typename Answer, typename Ask, typename Find, typename Note>
absl::StatusOr<Answer> OpenedStores::AskOrRemember(absl::string_view kind, const Address& address,
                                                   const Ask& ask, const Find& find,
                                                   const Note& note) {
  const std::string what =
      absl::StrCat(kind, " ", objects.EndpointOf(address), " ", ToText(address));
  std::optional<Answer> last = find(what);
  if (last && known.IsAway(address.place)) return *std::move(last);
  absl::StatusOr<Answer> answer =
      ask(last ? ObjectStore::Tries::kBrief : ObjectStore::Tries::kLong);
  if (answer.ok()) {
    known.NoteAnswer(address.place);
    note(what, *answer);
  }
  if (!absl::IsUnavailable(answer.status()) || !last) return answer;
  known.NoteAway(address.place);
  PENSTOCK_LOG(kWarning, "store_away", {"url", ToText(address)},
               {"reason", answer.status().message()},
               {"used_instead", "what it said last; only what the cache has can be read"});
  return *std::move(last);
}

absl::StatusOr<ObjectVersion> OpenedStores::Look(const Address& address) {
  using Tries = ObjectStore::Tries;
  using Looked = std::optional<ObjectVersion>;  // nullopt: there is no such object
  absl::Status absent = absl::NotFoundError(absl::StrCat(
      "'", ToText(address), "' was not there when the store last answered, which it does not now"));
  const auto ask = [&](Tries tries) -> absl::StatusOr<Looked> {
    absl::StatusOr<ObjectVersion> version = objects.Stat(address, tries);
    if (version.ok()) return Looked(*std::move(version));
    if (!absl::IsNotFound(version.status())) return version.status();
    absent = version.status();
    return Looked();
  };
  const auto find = [&](const std::string& what) -> std::optional<Looked> {
    if (Looked version = known.FindVersion(what)) return version;
    return known.IsAbsent(what) ? std::make_optional<Looked>(std::nullopt) : std::nullopt;
  };
  const auto note = [&](const std::string& what, const Looked& is) {
    is ? known.NoteVersion(what, *is) : known.NoteAbsent(what);
  };
  PENSTOCK_ASSIGN_OR_RETURN(Looked looked,
                            AskOrRemember<Looked>("object", address, ask, find, note));
  if (!looked) return absent;
  return *std::move(looked);
}

absl::Status OpenedStores::ListPages(const Address& folder, ListDepth depth,
                                     const ObjectStore::TakePage& take) {
  if (known.IsAway(folder.place))
    return absl::UnavailableError(
        absl::StrCat("'", ToText(folder), "': the store did not answer a moment ago"));
  // Who has listed it once may have kept what it said.
  const std::string what = absl::StrCat("listed ", objects.EndpointOf(folder), " ", ToText(folder));
  const bool was_listed = known.FindNames(what).has_value();
  const absl::Status listed = objects.ListPages(
      folder, depth, take, was_listed ? ObjectStore::Tries::kBrief : ObjectStore::Tries::kLong);
  if (absl::IsUnavailable(listed)) known.NoteAway(folder.place);
  if (listed.ok()) known.NoteNames(what, {});
  return listed;
}

absl::Status OpenedStores::ReadBeginning(const std::string& version, uint64_t offset,
                                         std::span<std::byte> into, const FetchedObject& object) {
  const bool is_kept = offset < kBeginning && into.size() <= kBeginning - offset;
  const std::string what = absl::StrCat("bytes ", version, " ", offset, " ", into.size());
  if (is_kept && known.FindBytes(what, into)) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(object.FetchPatiently(offset, into));
  if (is_kept) known.NoteBytes(what, into);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> OpenedStores::Names(const Address& folder) {
  using Keys = std::vector<std::string>;
  return AskOrRemember<Keys>(
      "folder", folder, [&](ObjectStore::Tries tries) { return objects.List(folder, tries); },
      [&](const std::string& what) { return known.FindNames(what); },
      [&](const std::string& what, const Keys& are) { known.NoteNames(what, are); });
}

}  // namespace penstock::store
