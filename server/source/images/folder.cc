#include "server/source/images/folder.h"

#include <optional>
#include <utility>

#include "server/source/files/roots.h"
#include "server/source/images/image_files.h"
#include "server/source/images/manifest_builder.h"
#include "server/source/images/manifest_cache.h"

namespace penstock::source {
namespace {

struct Indexed {
  Manifest manifest;
  bool from_cache = false;
  std::string warning = {};
  bool all_examined = true;
};

// Returns the cached manifest if it is current. A missing one needs no warning; a damaged one, or
// one of another version, does.
absl::StatusOr<std::optional<Indexed>> TakeCached(const ManifestCache& cache, const Tree& tree,
                                                  const FolderOptions& options,
                                                  std::string& warning) {
  // Read first, because another process may replace the file by a newer one.
  const int64_t stored_at = cache.StoredAt();
  auto cached = cache.Load();
  if (!cached.ok()) {
    if (!absl::IsNotFound(cached.status()))
      warning = absl::StrCat(cached.status().message(), "; indexed anew");
    return std::nullopt;
  }
  ParallelFor parallel_for;
  parallel_for.threads = options.threads;
  if (options.progress) parallel_for.watch = [&] { return options.progress({}); };
  PENSTOCK_ASSIGN_OR_RETURN(const bool current, IsCurrent(*cached, stored_at, tree, parallel_for));
  if (!current) return std::nullopt;
  PENSTOCK_ASSIGN_OR_RETURN(const FilesFound found,
                            ExamineFiles(*cached, tree, parallel_for, options.look_for));
  if (found == FilesFound::kChanged) return std::nullopt;
  return Indexed{.manifest = *std::move(cached),
                 .from_cache = true,
                 .all_examined = found == FilesFound::kUnchanged};
}

absl::StatusOr<Manifest> Build(const Tree& tree, const FolderOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(Scan scan, ScanDataset(tree, {options.threads, options.progress}));
  return BuildManifest(tree.folder(), std::move(scan));
}

absl::StatusOr<Indexed> BuildAndStore(const ManifestCache& cache, const Tree& tree,
                                      const FolderOptions& options, std::string warning) {
  PENSTOCK_ASSIGN_OR_RETURN(Manifest built, Build(tree, options));
  if (const absl::Status stored = cache.Store(built); !stored.ok())
    warning = absl::StrCat("the manifest is not cached: ", stored.message());
  return Indexed{std::move(built), false, std::move(warning)};
}

absl::StatusOr<Indexed> Index(const std::optional<ManifestCache>& cache, const Tree& tree,
                              const FolderOptions& options) {
  if (!cache) {
    PENSTOCK_ASSIGN_OR_RETURN(Manifest built, Build(tree, options));
    return Indexed{std::move(built), false, ""};
  }
  std::string warning;
  if (options.cache == CacheUse::kUse) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<Indexed> cached,
                              TakeCached(*cache, tree, options, warning));
    if (cached) return *std::move(cached);
  }
  return BuildAndStore(*cache, tree, options, std::move(warning));
}

class FolderState final : public ImageFiles {
 public:
  FolderState(Tree tree, Manifest manifest, std::optional<ManifestCache> cache)
      : ImageFiles(std::move(tree)), manifest(std::move(manifest)), cache(std::move(cache)) {}

  std::string RelativePath(uint64_t sample) const override { return manifest.RelativePath(sample); }
  uint64_t StampAt(uint64_t sample) const override { return manifest.StampAt(sample); }
  std::string FindChange(uint64_t sample, const FileState& now) const override {
    return manifest.FindChange(sample, now);
  }

  const Manifest manifest;

 private:
  void Forget() const override {
    if (cache) cache->Forget();
  }

  const std::optional<ManifestCache> cache;
};

class FolderDataset final : public Dataset {
 public:
  explicit FolderDataset(std::shared_ptr<const FolderState> state)
      : state_(std::move(state)), classes_(state_->manifest.Classes()) {}

  absl::string_view kind() const override { return "folder"; }
  uint64_t samples() const override { return state_->manifest.samples(); }
  uint64_t digest() const override { return state_->manifest.digest(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override { return state_->manifest.label(sample); }
  std::string path(uint64_t sample) const override { return state_->DisplayPath(sample); }
  std::optional<Extent> extent(uint64_t sample) const override {
    const std::optional<uint64_t> bytes = state_->manifest.FileBytes(sample);
    if (!bytes || !state_->manifest.IsFile(sample)) return std::nullopt;
    return Extent{state_->tree.FullPath(state_->manifest.RelativePath(sample)), 0, *bytes};
  }
  uint64_t stamp(uint64_t sample) const override { return state_->manifest.StampAt(sample); }
  bool changed() const override { return state_->changed.load(); }
  bool IsUnchanged(uint64_t sample) const override {
    return IsUnchangedNow(state_->manifest, state_->tree, sample);
  }
  // Each sample is a piece.
  uint64_t content_pieces() const override { return samples(); }
  absl::Status AddContent(uint64_t sample, Sha256& sum) const override {
    sum.Add(state_->manifest.RelativePath(sample));
    sum.Add(static_cast<uint64_t>(label(sample)));
    return AddFileContent(state_, sample, sum);
  }
  std::unique_ptr<Reader> NewReader() const override { return MakeImageReader(state_); }

 private:
  // Shared with the readers, which may outlive the dataset.
  std::shared_ptr<const FolderState> state_;
  const std::vector<std::string> classes_;
};

}  // namespace

absl::StatusOr<OpenedFolder> OpenFolder(const FolderOptions& options) {
  std::vector<std::string> roots = options.roots;
  if (roots.empty()) roots.push_back(options.path);
  auto folder = ResolveUnderRoots(options.path, roots);
  if (!folder.ok()) return base::Annotate(folder.status(), "opening a dataset");
  PENSTOCK_ASSIGN_OR_RETURN(Tree tree,
                            Tree::Open(*folder, CanonicalRoots(roots), options.confinement));
  std::optional<ManifestCache> cache;
  if (!options.state_dir.empty()) cache.emplace(options.state_dir, *folder, options.access);
  PENSTOCK_ASSIGN_OR_RETURN(Indexed indexed, Index(cache, tree, options));
  auto state = std::make_shared<const FolderState>(std::move(tree), std::move(indexed.manifest),
                                                   std::move(cache));
  std::string identity = state->manifest.Identity();
  return OpenedFolder{.dataset = std::make_unique<FolderDataset>(std::move(state)),
                      .from_cache = indexed.from_cache,
                      .warning = std::move(indexed.warning),
                      .identity = std::move(identity),
                      .all_examined = indexed.all_examined};
}

}  // namespace penstock::source
