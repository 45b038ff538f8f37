// What all files of stores share: connections, keys, pieces that are fetched ahead, the cache, and
// what stores said last. Immutable but for its thread-safe parts.
// **Thread safety**: any thread. **Ownership**: shared by the files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/cache/cache_folder.h"
#include "server/store/client/object_store.h"
#include "server/store/client/transfers.h"
#include "server/store/files/key_rings.h"
#include "server/store/files/last_known.h"
#include "server/store/files/pieces.h"
#include "server/store/files/read_through.h"
#include "server/store/files/settings.h"
#include "server/store/files/store_counts.h"

namespace penstock::store {

struct OpenedStores {
  // `folder`: null: pieces are not kept.
  OpenedStores(const Curl& curl, const StoreSettings& settings, std::unique_ptr<CacheFolder> folder,
               const Pieces::Options& options);
  OpenedStores(const OpenedStores&) = delete;
  OpenedStores& operator=(const OpenedStores&) = delete;
  ~OpenedStores() { Stop(); }

  // Ends what is under way.
  void Stop();
  StoreCounts counts() const;

  // What the store says, or what it said last if it does not answer. **Errors**: as ObjectStore's.
  absl::StatusOr<ObjectVersion> Look(const Address& address);
  absl::StatusOr<std::vector<std::string>> Names(const Address& folder);
  // As ObjectStore's. Where a folder was listed before, a store that says nothing is given up soon.
  absl::Status ListPages(const Address& folder, ListDepth depth, const ObjectStore::TakePage& take);
  // Reads bytes of one version of an object. If they are of its first 64 KiB, where what opening
  // reads lies (headers of arrays, say), they are known from then on. `version` names it.
  static constexpr uint64_t kBeginning = 64 << 10;
  absl::Status ReadBeginning(const std::string& version, uint64_t offset, std::span<std::byte> into,
                             const FetchedObject& object);

  const uint64_t most_held_bytes, most_cache_bytes;
  const std::unique_ptr<CacheFolder> cache;  // null: pieces are not kept
  std::atomic<uint64_t> no_mirrors = 0;      // files that the cache could not take
  std::array<std::atomic<uint64_t>, source::kIndexFileUses> index_files = {};
  LastKnown known;
  Transfers transfers;
  KeyRings rings;
  ObjectStore objects;
  Pieces pieces;
  ReadThrough::Shared passes;

 private:
  Pieces::Options WithSoon(Pieces::Options options);
  template <typename Answer, typename Ask, typename Find, typename Note>
  absl::StatusOr<Answer> AskOrRemember(absl::string_view kind, const Address& address,
                                       const Ask& ask, const Find& find, const Note& note);
};

}  // namespace penstock::store
