#include "server/store/files/store_files.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "common/posix/limits.h"
#include "server/source/files/parallel_for.h"
#include "server/store/cache/cache_folder.h"
#include "server/store/files/read_through.h"

namespace penstock::store {
namespace {

constexpr size_t kAskedAtOnce = 64;
// What nobody reads for so long goes: its feed is over. A consumer may be slow.
constexpr base::Duration kUnreadForLong = std::chrono::seconds(60);

// A hash of all that tells this version of this object from others; never 0. Another `salt` gives
// another hash.
uint64_t HashOf(const Address& address, const ObjectVersion& version,
                const absl::string_view endpoint, uint64_t salt) {
  base::Hasher hasher;
  hasher.Add(salt);
  for (const absl::string_view text :
       {endpoint, absl::string_view(address.place), absl::string_view(address.key),
        absl::string_view(address.query), absl::string_view(version.etag),
        absl::string_view(version.modified)})
    hasher.Add(text);
  hasher.Add(static_cast<uint64_t>(address.scheme));
  hasher.Add(version.bytes);
  const uint64_t digest = hasher.Digest();
  return digest != 0 ? digest : 1;
}

// Connections may take a quarter of the files that this process may open.
uint32_t MostConnections() {
  return static_cast<uint32_t>(std::clamp<uint64_t>(posix::MaxOpenFiles() / 4, 16, 512));
}

Transfers::Options WithinFiles(Transfers::Options options) {
  options.most_connections = std::min(options.most_connections, MostConnections());
  return options;
}

}  // namespace

// What the files share.
struct StoreFiles::Store {
  Store(const Curl& curl, const StoreSettings& settings, std::unique_ptr<CacheFolder> folder,
        const Pieces::Options& options)
      : endpoint(settings.store.s3.endpoint),
        most_held_bytes(options.most_bytes),
        most_cache_bytes(settings.cache_bytes),
        cache(std::move(folder)),
        transfers(curl, WithinFiles(settings.transfers)),
        objects(transfers, settings.store),
        pieces(WithSoon(options)) {
    passes.most_ahead = options.most_bytes / 2;
  }
  ~Store() { transfers.Stop(); }

  // Pieces that are expected one after another begin together.
  Pieces::Options WithSoon(Pieces::Options options) {
    options.most_at_once = std::min(options.most_at_once, MostConnections());
    options.soon = [this](std::function<void()> begin) { transfers.Post(std::move(begin)); };
    return options;
  }

  StoreCounts counts() const {
    return {.transfers = transfers.counts(),
            .retries = objects.retries(),
            .pieces = pieces.counts(),
            .most_held_bytes = most_held_bytes,
            .has_cache = cache != nullptr,
            .cache = cache != nullptr ? cache->counts() : CacheFolder::Counts{},
            .most_cache_bytes = most_cache_bytes,
            .no_mirrors = no_mirrors.load()};
  }

  const std::string endpoint;
  const uint64_t most_held_bytes, most_cache_bytes;
  const std::unique_ptr<CacheFolder> cache;  // null: pieces are not kept
  std::atomic<uint64_t> no_mirrors = 0;      // files that the cache could not take
  Transfers transfers;
  ObjectStore objects;
  Pieces pieces;
  ReadThrough::Shared passes;
};

class StoreFiles::File final : public source::RemoteFile {
 public:
  File(std::shared_ptr<Store> store, const Address& address, const ObjectVersion& version)
      : store_(std::move(store)),
        path_(ToText(address)),
        state_{.inode = HashOf(address, version, store_->endpoint, kStamp),
               .bytes = version.bytes,
               .mtime_ns = version.modified_ns,
               .ctime_ns = version.modified_ns},
        object_(std::make_shared<const Object>(store_->objects, address, version)) {
    if (store_->cache == nullptr) return;
    const auto hash = [&](uint64_t salt) {
      return HashOf(address, version, store_->endpoint, salt);
    };
    mirror_ = store_->cache->OpenMirror({hash(kStamp), hash(kSecond)}, version.bytes);
    if (mirror_ == nullptr) ++store_->no_mirrors;
  }

  std::string path() const override { return path_; }
  source::FileState state() const override { return state_; }

  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    PENSTOCK_RETURN_IF_ERROR(CheckWithin(offset, into.size()));
    return into.empty() ? absl::OkStatus() : object_->FetchPatiently(offset, into);
  }

  absl::Status ReadPiece(const source::RemotePiece& piece, uint64_t from,
                         std::span<std::byte> into) const override {
    PENSTOCK_RETURN_IF_ERROR(CheckWithin(piece.offset, from));
    PENSTOCK_RETURN_IF_ERROR(CheckWithin(piece.offset + from, into.size()));
    if (into.empty()) return absl::OkStatus();
    if (mirror_ == nullptr) return store_->pieces.Read(object_, piece.offset, from, into);
    if (into.size() == piece.bytes) return ReadKept(piece.offset, into);
    std::vector<std::byte> whole(piece.bytes);
    PENSTOCK_RETURN_IF_ERROR(ReadKept(piece.offset, whole));
    std::copy_n(whole.begin() + static_cast<ptrdiff_t>(from), into.size(), into.begin());
    return absl::OkStatus();
  }

  void Expect(const source::RemotePiece& piece) const override {
    if (!CheckWithin(piece.offset, piece.bytes).ok()) return;
    if (mirror_ != nullptr && mirror_->Has(piece.offset, piece.bytes)) return;
    store_->pieces.Expect(object_, piece.offset, piece.bytes);
  }

  std::unique_ptr<source::RemotePass> BeginPass() const override {
    ReadThrough::Keep keep;
    if (mirror_ != nullptr)
      keep = [this](uint64_t offset, std::span<const std::byte> piece) {
        mirror_->Keep(offset, piece);
      };
    return std::make_unique<ReadThrough>(store_->pieces, store_->passes, object_, state_.bytes,
                                         std::move(keep), ReadThrough::Options{});
  }

 private:
  static constexpr uint64_t kStamp = 0, kSecond = 1;  // salts

  // A whole piece: what is kept, else from the store, and then it is kept.
  absl::Status ReadKept(uint64_t offset, std::span<std::byte> into) const {
    if (mirror_->Read(offset, into)) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(store_->pieces.Read(object_, offset, 0, into));
    mirror_->Keep(offset, into);
    return absl::OkStatus();
  }

  class Object final : public FetchedObject {
   public:
    Object(ObjectStore& objects, Address address, ObjectVersion version)
        : objects_(objects), address_(std::move(address)), version_(std::move(version)) {}
    absl::Status Fetch(uint64_t offset, std::span<std::byte> into) const override {
      return objects_.Read(address_, version_, offset, into);
    }
    absl::Status FetchPatiently(uint64_t offset, std::span<std::byte> into) const override {
      return objects_.Read(address_, version_, offset, into, ObjectStore::Tries::kLong);
    }
    void Start(uint64_t offset, std::span<std::byte> into, Done done) const override {
      StartParts({{.offset = offset, .into = into}}, std::move(done));
    }
    bool is_joinable() const override { return true; }
    void StartParts(const std::vector<ObjectPart>& parts, Done done) const override {
      objects_.StartRead(address_, version_, parts, std::move(done));
    }

   private:
    ObjectStore& objects_;
    const Address address_;
    const ObjectVersion version_;
  };

  absl::Status CheckWithin(uint64_t offset, uint64_t bytes) const {
    if (offset <= state_.bytes && bytes <= state_.bytes - offset) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("'", path_, "' ends at byte ", state_.bytes,
                                            ", before what is to be read at ", offset));
  }

  const std::shared_ptr<Store> store_;  // outlives the object
  const std::string path_;
  const source::FileState state_;
  const std::shared_ptr<const Object> object_;
  std::shared_ptr<Mirror> mirror_;  // null: pieces are not kept
};

StoreFiles::StoreFiles(Options options) : options_(std::move(options)) {}

StoreFiles::~StoreFiles() { Stop(); }

void StoreFiles::Stop() {
  const base::MutexLock lock(mutex_);
  stopped_ = true;
  if (store_ != nullptr) store_->transfers.Stop();
}

void StoreFiles::Tick(base::TimePoint now) {
  const base::MutexLock lock(mutex_);
  if (store_ == nullptr) return;
  store_->pieces.LetGo(kUnreadForLong);
  watch_.Look(store_->counts(), now);
}

StoreCounts StoreFiles::counts() const {
  const base::MutexLock lock(mutex_);
  return store_ != nullptr ? store_->counts() : StoreCounts{};
}

StoreRates StoreFiles::rates() const {
  const base::MutexLock lock(mutex_);
  return watch_.rates();
}

absl::StatusOr<std::shared_ptr<StoreFiles::Store>> StoreFiles::Opened() {
  const base::MutexLock opening(opening_);
  const std::shared_ptr<Store> known = [&] {
    const base::MutexLock lock(mutex_);
    return store_;
  }();
  PENSTOCK_ASSIGN_OR_RETURN(const Curl* const curl, Curl::Load());
  PENSTOCK_ASSIGN_OR_RETURN(const StoreSettings settings, ReadStoreSettings(options_.environment));
  if (known != nullptr) {
    known->objects.SetAccess(settings.store.s3, settings.store.gs);  // its keys may be new
    return known;
  }
  std::unique_ptr<CacheFolder> cache;
  if (!settings.cache_folder.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(cache,
                              CacheFolder::Open(settings.cache_folder, settings.cache_bytes));
  }
  const auto made = std::make_shared<Store>(*curl, settings, std::move(cache), options_.pieces);
  const base::MutexLock lock(mutex_);
  if (stopped_) return absl::CancelledError("the daemon is ending");
  store_ = made;
  return made;
}

absl::StatusOr<source::RemoteFiles::Found> StoreFiles::Find(std::span<const std::string> urls) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Store> store, Opened());
  Found found(urls.size());
  const source::ParallelFor parallel_for = {.threads =
                                                std::clamp<size_t>(urls.size(), 1, kAskedAtOnce)};
  PENSTOCK_RETURN_IF_ERROR(parallel_for.ForEach(urls.size(), [&](size_t i) -> absl::Status {
    PENSTOCK_ASSIGN_OR_RETURN(const Address address, ParseAddress(urls[i]));
    PENSTOCK_ASSIGN_OR_RETURN(const ObjectVersion version, store->objects.Stat(address));
    found[i] = std::make_shared<const File>(store, address, version);
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<source::RemoteFiles::Found> StoreFiles::List(const std::string& folder,
                                                            absl::string_view suffix) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Store> store, Opened());
  PENSTOCK_ASSIGN_OR_RETURN(const Address address, ParseAddress(folder));
  if (address.scheme != Scheme::kS3 && address.scheme != Scheme::kGs)
    return absl::InvalidArgumentError(absl::StrCat(
        "'", ToText(address), "': web servers do not list their files; name them, for ",
        "example train-{000..146}", suffix));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> keys, store->objects.List(address));
  std::vector<std::string> urls;
  for (const std::string& key : keys) {
    const absl::string_view name = absl::string_view(key).substr(address.key.size());
    if (name.size() > suffix.size() && absl::EndsWith(name, suffix) &&
        !absl::StrContains(name, '/'))
      urls.push_back(absl::StrCat(folder, name));
  }
  return Find(urls);
}

}  // namespace penstock::store
