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
  absl::StatusOr<Answer> answer = ask();
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
  return AskOrRemember<ObjectVersion>(
      "object", address, [&] { return objects.Stat(address); },
      [&](const std::string& what) { return known.FindVersion(what); },
      [&](const std::string& what, const ObjectVersion& is) { known.NoteVersion(what, is); });
}

absl::StatusOr<std::vector<std::string>> OpenedStores::Names(const Address& folder) {
  using Keys = std::vector<std::string>;
  return AskOrRemember<Keys>(
      "folder", folder, [&] { return objects.List(folder); },
      [&](const std::string& what) { return known.FindNames(what); },
      [&](const std::string& what, const Keys& are) { known.NoteNames(what, are); });
}

}  // namespace penstock::store
