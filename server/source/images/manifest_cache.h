// A manifest stored as a file in the state directory.
// **Thread safety**: any thread. Processes may share the directory, because each writes to a
// temporary file and renames it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/tree.h"
#include "server/source/images/manifest.h"
#include "server/source/state/state_access.h"

namespace penstock::source {

class ManifestCache {
 public:
  // Uses the file STATE_DIR/manifests/<hash of root>.manifest for the dataset with canonical folder
  // `root`.
  ManifestCache(const std::string& state_dir, const std::string& root,
                std::shared_ptr<StateAccess> access = nullptr);

  // Reads the cached manifest into memory.
  // **Errors**: NotFound if there is none, or it is another dataset's; DataLoss if it is damaged;
  // FailedPrecondition if it has another version; Unavailable if the state directory does not
  // respond.
  absl::StatusOr<Manifest> Load() const;

  // When it was written, by this kernel's clock for files; 0 if there is none.
  int64_t StoredAt() const;

  absl::Status Store(const Manifest& manifest) const;

  // Removes the file because it is out of date.
  void Forget() const;

  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
  std::string root_;
  std::shared_ptr<StateAccess> access_;  // shared with the catalogue; null: calls block
};

// The result of checking the files themselves.
enum class FilesFound { kUnchanged, kChanged, kNotAllExamined };

// Time limit for checking files over a network, where each answer takes a while.
inline constexpr base::Duration kLookFor = std::chrono::seconds(5);

// Checks every file with stat(2), on the threads of `parallel_for`. Local files are all checked.
// For others it stops after `look_for` with kNotAllExamined, and reading finds remaining changes.
// **Errors**: Cancelled if `parallel_for.watch` returned false.
absl::StatusOr<FilesFound> ExamineFiles(const Manifest& manifest, const Tree& tree,
                                        ParallelFor parallel_for,
                                        std::optional<base::Duration> look_for = std::nullopt);

// Whether the sample's file matches the manifest, by stat(2); false if that fails.
bool IsUnchangedNow(const Manifest& manifest, const Tree& tree, uint64_t sample);

// Whether every folder is the same one and still has the time and number of entries in the
// manifest. Skips counting where nothing can have changed: in a local folder with the same mtime
// whose ctime is older than the stored manifest. A folder that cannot be read is not current.
// **Errors**: Cancelled if `parallel_for.watch` returned false.
absl::StatusOr<bool> IsCurrent(const Manifest& manifest, int64_t stored_at, const Tree& tree,
                               const ParallelFor& parallel_for);

}  // namespace penstock::source
