// A dataset's manifest as a file in the state directory. Any thread; two processes may share the
// folder: each writes aside and renames.
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
  // The file for the dataset with canonical folder `root`: STATE_DIR/manifests/<hash of
  // root>.manifest.
  ManifestCache(const std::string& state_dir, const std::string& root,
                std::shared_ptr<StateAccess> access = nullptr);

  // The cached manifest, in memory. NotFound: none yet, or another dataset's; DataLoss: damaged;
  // FailedPrecondition: another version's; Unavailable: the state directory does not answer.
  absl::StatusOr<Manifest> Load() const;

  // When it was written, by this kernel's clock for files; 0: it is not there.
  int64_t StoredAt() const;

  // Writes the manifest.
  absl::Status Store(const Manifest& manifest) const;

  // Drops the file: what it says no longer holds.
  void Forget() const;

  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
  std::string root_;
  std::shared_ptr<StateAccess> access_;  // with the catalogue; null: whoever calls waits
};

// What a look at the files themselves says.
enum class FilesFound { kUnchanged, kChanged, kNotAllExamined };

// How long looking at files may take over a network, where each answer does.
inline constexpr base::Duration kLookFor = std::chrono::seconds(5);

// Looks at every file, without opening it, on the parallel-for's threads. Where they are not on
// this machine it stops after `look_for` with what it has (kNotAllExamined), and reading finds the
// rest; where they are, at the end. Cancelled when the parallel-for's watch said so.
absl::StatusOr<FilesFound> ExamineFiles(const Manifest& manifest, const Tree& tree,
                                        ParallelFor parallel_for,
                                        std::optional<base::Duration> look_for = std::nullopt);

// Whether the sample's file is what the manifest says, without opening it; what cannot be looked at
// is not.
bool IsUnchangedNow(const Manifest& manifest, const Tree& tree, uint64_t sample);

// Whether every folder is still the same one, with the time and the number of entries that the
// manifest knows. Entries are not counted where nothing can have changed: in a local folder whose
// own time is what it was, and which nobody touched since the manifest was stored. What cannot be
// read is not current; Cancelled when the parallel-for's watch said so.
absl::StatusOr<bool> IsCurrent(const Manifest& manifest, int64_t stored_at, const Tree& tree,
                               const ParallelFor& parallel_for);

}  // namespace penstock::source
