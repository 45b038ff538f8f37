#include "server/store/files/store_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/hash.h"
#include "server/source/files/parallel_for.h"
#include "server/store/cache/cache_folder.h"
#include "server/store/client/object_store.h"
#include "server/store/client/whole_object.h"
#include "server/store/files/gathered_object.h"
#include "server/store/files/opened_stores.h"

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

absl::StatusOr<Address> ParseFolder(const std::string& folder) {
  PENSTOCK_ASSIGN_OR_RETURN(Address address, ParseAddress(folder));
  if (address.scheme == Scheme::kS3 || address.scheme == Scheme::kGs) return address;
  return absl::InvalidArgumentError(
      absl::StrCat("'", ToText(address), "': web servers do not list their files; name them, for ",
                   "example train-{000..146}.tar"));
}

// What a listing says, with names below the folder.
absl::StatusOr<std::vector<source::RemoteEntry>> ToEntries(ListPage page, const Address& folder) {
  std::vector<source::RemoteEntry> entries;
  for (std::string& below : page.folders)
    entries.push_back({.name = below.substr(folder.key.size())});
  for (ListedObject& object : page.objects) {
    if (object.key.empty() || object.key.back() == '/') continue;  // stands for a folder
    if (object.etag.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          "'", ToText(folder), "': the store lists objects without their ETags, so a change could ",
          "not be noticed; use a store that gives them"));
    entries.push_back({.name = object.key.substr(folder.key.size()),
                       .bytes = object.bytes,
                       .pin = PinOf(object.etag)});
  }
  return entries;
}

}  // namespace

class StoreFiles::File final : public source::RemoteFile {
 public:
  // `index`: whether the listing has an index beside it; not set: nobody knows.
  File(const std::shared_ptr<OpenedStores>& store, const Address& address,
       const ObjectVersion& version, std::optional<bool> index = std::nullopt)
      : File(store, ToText(address), store->objects.EndpointOf(address),
             {.inode = HashOf(address, version, store->objects.EndpointOf(address), kStamp),
              .bytes = version.bytes,
              .mtime_ns = version.modified_ns,
              .ctime_ns = version.modified_ns},
             HashOf(address, version, store->objects.EndpointOf(address), kSecond),
             std::make_shared<const Object>(store->objects, address, version)) {
    address_ = address;
    version_ = source::ToVersionName(version.etag, version.modified);
    has_index_ = index;
  }
  // `second`: another hash of the version than the state's.
  File(std::shared_ptr<OpenedStores> store, std::string path, const std::string& endpoint,
       const source::FileState& state, uint64_t second, std::shared_ptr<const FetchedObject> object)
      : store_(std::move(store)),
        path_(std::move(path)),
        state_(state),
        object_(std::move(object)) {
    if (store_->cache == nullptr) return;
    known_as_ = absl::StrCat(absl::Hex(state.inode), absl::Hex(second, absl::kZeroPad16));
    absl::Status trouble;
    mirror_ = store_->cache->OpenMirror({state.inode, second}, state.bytes,
                                        absl::StrCat(path_, "\n", endpoint), &trouble);
    if (!trouble.ok()) ++store_->no_mirrors;
  }

  std::string path() const override { return path_; }
  source::FileState state() const override { return state_; }

  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    PENSTOCK_RETURN_IF_ERROR(CheckWithin(offset, into.size()));
    if (into.empty()) return absl::OkStatus();
    if (mirror_ == nullptr) return object_->FetchPatiently(offset, into);
    return store_->ReadBeginning(known_as_, offset, into, *object_);
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

  void Expect(const source::RemotePiece& piece, const source::UseTimes& times) const override {
    if (!CheckWithin(piece.offset, piece.bytes).ok()) return;
    const PieceUses uses = {.now = times.now, .next = times.next};
    if (mirror_ != nullptr && mirror_->Expect(piece.offset, piece.bytes, uses)) return;
    store_->pieces.Expect(object_, piece.offset, piece.bytes);
  }
  absl::StatusOr<source::FetchOutcome> Fetch(const source::RemotePiece& piece) const override {
    PENSTOCK_RETURN_IF_ERROR(CheckWithin(piece.offset, piece.bytes));
    if (mirror_ == nullptr || piece.bytes == 0) return source::FetchOutcome{};
    std::vector<std::byte> bytes(piece.bytes);
    if (mirror_->Check(piece.offset, bytes)) return source::FetchOutcome{.is_kept = true};
    PENSTOCK_RETURN_IF_ERROR(store_->pieces.Read(object_, piece.offset, 0, bytes));
    const absl::Status kept = mirror_->TryKeep(piece.offset, bytes);
    if (kept.ok()) return source::FetchOutcome{.bytes = piece.bytes, .is_kept = true};
    if (absl::IsResourceExhausted(kept)) return kept;
    return absl::FailedPreconditionError(
        absl::StrCat("the cache cannot keep '", path_, "': ", kept.message()));
  }
  void NoteUse(const source::RemotePiece& piece, uint64_t next) const override {
    if (mirror_ != nullptr) mirror_->NoteUse(piece.offset, next);
  }

  std::string version() const override { return version_; }
  absl::StatusOr<std::optional<std::string>> ReadBeside(absl::string_view suffix,
                                                        const TakeMemory& take) const override {
    // What a signed URL lets us read is that one file.
    if (!address_ || !address_->query.empty() || !has_index_.value_or(true)) return std::nullopt;
    Address beside = *address_;
    absl::StrAppend(&beside.key, suffix);
    return store_->objects.ReadWhole(beside, take);
  }
  void NoteIndexFile(source::IndexFileUse use) const override {
    ++store_->index_files[static_cast<size_t>(use)];
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

  const std::shared_ptr<OpenedStores> store_;  // outlives the object
  const std::string path_;
  const source::FileState state_;
  const std::shared_ptr<const FetchedObject> object_;
  std::shared_ptr<Mirror> mirror_;  // null: pieces are not kept
  std::optional<Address> address_;  // not set: it is made of many objects
  std::string version_;
  std::optional<bool> has_index_;  // as in the constructor
  std::string known_as_;           // its version, if there is a mirror
};

StoreFiles::StoreFiles(Options options) : options_(std::move(options)) {}

StoreFiles::~StoreFiles() { Stop(); }

void StoreFiles::Stop() {
  const base::MutexLock lock(mutex_);
  stopped_ = true;
  if (store_ != nullptr) store_->Stop();
}

void StoreFiles::SetSettings(const StoreSettings& settings) {
  const base::MutexLock lock(mutex_);
  settings_ = settings;
  if (store_ == nullptr) return;
  store_->objects.SetPlaces(store_->rings.PlacesFor(settings.places));
  store_->rings.RenewSoon();
}

absl::StatusOr<StoreSettings> StoreFiles::Settings() {
  {
    const base::MutexLock lock(mutex_);
    if (settings_) return *settings_;
  }
  return options_.settings();
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

absl::StatusOr<std::shared_ptr<OpenedStores>> StoreFiles::Opened() {
  const base::MutexLock opening(opening_);
  const std::shared_ptr<OpenedStores> known = [&] {
    const base::MutexLock lock(mutex_);
    return store_;
  }();
  PENSTOCK_ASSIGN_OR_RETURN(const Curl* const curl, Curl::Load());
  PENSTOCK_ASSIGN_OR_RETURN(const StoreSettings settings, Settings());
  if (known != nullptr) {
    known->objects.SetPlaces(known->rings.PlacesFor(settings.places));
    known->rings.Reread();
    if (known->cache != nullptr && known->cache->Revive().ok()) known->known.Mend();
    return known;
  }
  std::unique_ptr<CacheFolder> cache;
  if (!settings.cache_folder.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(cache,
                              CacheFolder::Open(settings.cache_folder, settings.cache_bytes));
  }
  const auto made =
      std::make_shared<OpenedStores>(*curl, settings, std::move(cache), options_.pieces);
  const base::MutexLock lock(mutex_);
  if (stopped_) return absl::CancelledError("the daemon is ending");
  store_ = made;
  return made;
}

absl::StatusOr<source::RemoteFiles::Found> StoreFiles::Find(std::span<const std::string> urls) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<OpenedStores> store, Opened());
  std::vector<WantedFile> wanted;
  for (const std::string& url : urls) wanted.push_back({.url = url});
  return FindAll(store, wanted);
}

absl::StatusOr<source::RemoteFiles::Found> StoreFiles::FindAll(
    const std::shared_ptr<OpenedStores>& store, std::span<const WantedFile> wanted) {
  Found found(wanted.size());
  const source::ParallelFor parallel_for = {.threads =
                                                std::clamp<size_t>(wanted.size(), 1, kAskedAtOnce)};
  PENSTOCK_RETURN_IF_ERROR(parallel_for.ForEach(wanted.size(), [&](size_t i) -> absl::Status {
    PENSTOCK_ASSIGN_OR_RETURN(const Address address, ParseAddress(wanted[i].url));
    PENSTOCK_ASSIGN_OR_RETURN(const ObjectVersion version, store->Look(address));
    found[i] = std::make_shared<const File>(store, address, version, wanted[i].has_index);
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<source::RemoteFiles::Found> StoreFiles::List(const std::string& folder,
                                                            absl::string_view suffix) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<OpenedStores> store, Opened());
  PENSTOCK_ASSIGN_OR_RETURN(const Address address, ParseFolder(folder));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> keys, store->Names(address));
  std::vector<WantedFile> wanted;
  for (const std::string& key : keys) {
    const absl::string_view name = absl::string_view(key).substr(address.key.size());
    if (name.size() <= suffix.size() || !absl::EndsWith(name, suffix) || name[0] == '.' ||
        absl::StrContains(name, '/'))
      continue;
    const bool has_index =
        std::binary_search(keys.begin(), keys.end(), absl::StrCat(key, source::kIndexFileSuffix));
    wanted.push_back({.url = absl::StrCat(folder, name), .has_index = has_index});
  }
  return FindAll(store, wanted);
}

absl::Status StoreFiles::ListPages(const std::string& folder, Depth depth, const TakePage& take) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<OpenedStores> store, Opened());
  PENSTOCK_ASSIGN_OR_RETURN(const Address address, ParseFolder(folder));
  return store->ListPages(address, depth == Depth::kAll ? ListDepth::kAll : ListDepth::kOneLevel,
                          [&](ListPage page) -> absl::StatusOr<bool> {
                            PENSTOCK_ASSIGN_OR_RETURN(std::vector<source::RemoteEntry> entries,
                                                      ToEntries(std::move(page), address));
                            return take(std::move(entries));
                          });
}

absl::StatusOr<std::shared_ptr<const source::RemoteFile>> StoreFiles::Gather(
    source::GatheredFiles files) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<OpenedStores> store, Opened());
  PENSTOCK_ASSIGN_OR_RETURN(const Address folder, ParseFolder(files.folder));
  base::Hasher second;
  second.Add(files.folder);
  second.Add(files.state.inode);
  return std::make_shared<const File>(
      store, ToText(folder), store->objects.EndpointOf(folder), files.state, second.Digest(),
      std::make_shared<const GatheredObject>(store->objects, folder, std::move(files.at)));
}

uint64_t StoreFiles::StoreOf(const std::string& url) {
  const absl::StatusOr<Address> address = ParseAddress(url);
  const absl::StatusOr<std::shared_ptr<OpenedStores>> store = Opened();
  base::Hasher hasher;
  if (address.ok() && store.ok() && address->scheme == Scheme::kS3)
    hasher.Add((*store)->objects.EndpointOf(*address));
  return hasher.Digest();
}

}  // namespace penstock::store
