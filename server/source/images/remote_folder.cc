#include "server/source/images/remote_folder.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "server/source/files/escape.h"
#include "server/source/images/manifest.h"
#include "server/source/images/manifest_builder.h"
#include "server/source/images/manifest_cache.h"
#include "server/source/images/remote_scan.h"

namespace penstock::source {
namespace {

// Where each photograph lies if all lie one after another, and where the last one ends.
std::vector<uint64_t> PlacesOf(const Manifest& manifest) {
  std::vector<uint64_t> places(manifest.samples() + 1);
  for (uint64_t i = 0; i < manifest.samples(); ++i)
    places[i + 1] = places[i] + manifest.FileBytes(i).value_or(0);
  return places;
}

// Shared by the dataset, its readers, and what fetches photographs for them.
struct PhotographIndex {
  explicit PhotographIndex(Manifest from) : manifest(std::move(from)), places(PlacesOf(manifest)) {}

  std::string UrlOf(uint64_t sample) const {
    return absl::StrCat(manifest.root(), manifest.RelativePath(sample));
  }
  RemotePiece FindPiece(uint64_t sample) const {
    return {.offset = places[sample], .bytes = places[sample + 1] - places[sample]};
  }
  // Empty ones lie where the next one begins, so it is the last that begins there.
  RemoteEntry At(uint64_t offset) const {
    const auto after = std::upper_bound(places.begin(), places.end(), offset);
    PENSTOCK_CHECK(after != places.begin() && after != places.end());
    const auto sample = static_cast<uint64_t>(after - places.begin() - 1);
    return {.name = manifest.RelativePath(sample),
            .bytes = FindPiece(sample).bytes,
            .pin = manifest.StampAt(sample)};
  }

  const Manifest manifest;
  const std::vector<uint64_t> places;
};

struct RemoteFolderState {
  RemoteFolderState(std::shared_ptr<const PhotographIndex> of,
                    std::shared_ptr<const RemoteFile> read_from)
      : index(std::move(of)), file(std::move(read_from)) {}

  const std::shared_ptr<const PhotographIndex> index;
  const std::shared_ptr<const RemoteFile> file;
  mutable std::atomic<bool> changed{false};
};
using SharedFolderState = std::shared_ptr<const RemoteFolderState>;

class RemotePhotographReader final : public Dataset::Reader {
 public:
  explicit RemotePhotographReader(SharedFolderState state) : state_(std::move(state)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    piece_ = state_->index->FindPiece(sample);
    return Opened{piece_.bytes, piece_.bytes == 0 ? base::Fault::kEmpty : base::Fault::kNone};
  }
  absl::Status Read(std::span<std::byte> into) override {
    PENSTOCK_CHECK(into.size() == piece_.bytes);
    absl::Status read = ToReadStatus(state_->file->ReadPiece(piece_, 0, into));
    if (absl::IsDataLoss(read)) state_->changed = true;
    return read;
  }

 private:
  const SharedFolderState state_;  // shared with the dataset and its other readers
  RemotePiece piece_;
};

class RemoteFolderDataset final : public Dataset {
 public:
  explicit RemoteFolderDataset(SharedFolderState state)
      : state_(std::move(state)), classes_(index().manifest.Classes()) {}

  absl::string_view kind() const override { return "folder"; }
  uint64_t samples() const override { return index().manifest.samples(); }
  uint64_t digest() const override { return index().manifest.digest(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override { return index().manifest.label(sample); }
  std::string path(uint64_t sample) const override {
    return EscapeForDisplay(index().UrlOf(sample));
  }
  std::optional<Extent> extent(uint64_t sample) const override {
    return Extent{index().UrlOf(sample), 0, index().FindPiece(sample).bytes};
  }
  uint64_t stamp(uint64_t sample) const override { return index().manifest.StampAt(sample); }
  bool changed() const override { return state_->changed.load(); }
  bool is_remote() const override { return true; }
  void Expect(uint64_t sample, const Selection&, const UseTimes& times) const override {
    const RemotePiece piece = index().FindPiece(sample);
    if (piece.bytes > 0) state_->file->Expect(piece, times);
  }
  absl::StatusOr<FetchOutcome> Fetch(uint64_t sample) const override {
    const RemotePiece piece = index().FindPiece(sample);
    if (piece.bytes == 0) return FetchOutcome{.is_kept = true};
    return state_->file->Fetch(piece);
  }
  void NoteUse(uint64_t sample, const Selection&, uint64_t next) const override {
    const RemotePiece piece = index().FindPiece(sample);
    if (piece.bytes > 0) state_->file->NoteUse(piece, next);
  }
  // As of the same files on a disk (folder.cc).
  uint64_t content_pieces() const override { return samples(); }
  absl::Status AddContent(uint64_t sample, Sha256& sum) const override {
    sum.Add(index().manifest.RelativePath(sample));
    sum.Add(static_cast<uint64_t>(label(sample)));
    const RemotePiece piece = index().FindPiece(sample);
    sum.Add(piece.bytes);
    if (piece.bytes == 0) return absl::OkStatus();
    std::vector<std::byte> bytes(piece.bytes);
    PENSTOCK_RETURN_IF_ERROR(state_->file->ReadPiece(piece, 0, bytes));
    sum.AddBytes(bytes);
    return absl::OkStatus();
  }
  std::unique_ptr<Reader> NewReader() const override {
    return std::make_unique<RemotePhotographReader>(state_);
  }

 private:
  const PhotographIndex& index() const { return *state_->index; }

  const SharedFolderState state_;  // shared with the readers, which may outlive the dataset
  const std::vector<std::string> classes_;
};

// Names the photographs and their versions.
FileState StateOfAll(const PhotographIndex& index) {
  base::Hasher hasher;
  hasher.Add(index.manifest.root());
  hasher.Add(index.manifest.Identity());
  return {.inode = std::max<uint64_t>(hasher.Digest(), 1), .bytes = index.places.back()};
}

struct ListedFolder {
  Manifest manifest;
  bool from_cache = false;
  std::string warning = {};
};

std::optional<ManifestCache> CacheFor(const RemoteFolderOptions& options) {
  if (options.state_dir.empty()) return std::nullopt;
  return ManifestCache(options.state_dir, options.url, options.access);
}

// The kept index, if it is of the same store.
absl::StatusOr<Manifest> LoadKnown(const std::optional<ManifestCache>& cache,
                                   const RemoteFolderOptions& options) {
  if (!cache) return absl::NotFoundError("no index is kept");
  PENSTOCK_ASSIGN_OR_RETURN(Manifest known, cache->Load());
  if (known.folders()[0].device == options.remote->StoreOf(options.url)) return known;
  return absl::NotFoundError("the index is of another store");
}

absl::StatusOr<ListedFolder> UseKnown(const absl::Status& trouble, absl::StatusOr<Manifest> known,
                                      const ManifestCache& cache) {
  return ListedFolder{.manifest = *std::move(known),
                      .from_cache = true,
                      .warning = absl::StrCat("the folder could not be listed, so the index of ",
                                              TimeText(cache.StoredAt()),
                                              " is used, and changes since then are "
                                              "not seen: ",
                                              trouble.message())};
}

absl::StatusOr<ListedFolder> ListAnew(const RemoteFolderOptions& options) {
  const std::optional<ManifestCache> cache = CacheFor(options);
  absl::StatusOr<Manifest> known = LoadKnown(cache, options);
  absl::StatusOr<Scan> scan = ScanRemoteFolder({.folder = options.url,
                                                .remote = options.remote,
                                                .threads = options.threads,
                                                .progress = options.progress});
  if (absl::IsUnavailable(scan.status()) && known.ok())
    return UseKnown(scan.status(), std::move(known), *cache);
  PENSTOCK_RETURN_IF_ERROR(scan.status());
  PENSTOCK_ASSIGN_OR_RETURN(Manifest built, BuildManifest(options.url, *std::move(scan)));
  if (known.ok() && known->Identity() == built.Identity())
    return ListedFolder{.manifest = *std::move(known), .from_cache = true};
  ListedFolder listed{.manifest = std::move(built)};
  if (!cache) return listed;
  if (const absl::Status stored = cache->Store(listed.manifest); !stored.ok())
    listed.warning = absl::StrCat("the index is not cached: ", stored.message());
  return listed;
}

}  // namespace

absl::StatusOr<OpenedFolder> OpenRemoteFolder(const RemoteFolderOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(ListedFolder listed, ListAnew(options));
  const auto index = std::make_shared<const PhotographIndex>(std::move(listed.manifest));
  PENSTOCK_ASSIGN_OR_RETURN(
      std::shared_ptr<const RemoteFile> file,
      options.remote->Gather({.folder = options.url,
                              .state = StateOfAll(*index),
                              .at = [index](uint64_t offset) { return index->At(offset); }}));
  auto state = std::make_shared<const RemoteFolderState>(index, std::move(file));
  return OpenedFolder{.dataset = std::make_unique<RemoteFolderDataset>(std::move(state)),
                      .from_cache = listed.from_cache,
                      .warning = std::move(listed.warning),
                      .identity = index->manifest.Identity()};
}

bool IsRemoteFolderKnown(const RemoteFolderOptions& options) {
  return LoadKnown(CacheFor(options), options).ok();
}

}  // namespace penstock::source
