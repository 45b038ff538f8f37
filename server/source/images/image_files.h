// Datasets of one file per image: what they share with their readers, and reading an image.
// **Thread safety**: immutable except for `changed`; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "server/source/core/dataset.h"
#include "server/source/files/file_state.h"
#include "server/source/files/tree.h"

namespace penstock::source {

// What a changed file's state says now, where only its size and its stamp were recorded. `bytes`:
// the maximum also stands for anything larger.
std::string DescribeNewState(uint32_t bytes, const FileState& now);

class ImageFiles {
 public:
  explicit ImageFiles(Tree tree) : tree(std::move(tree)) {}
  virtual ~ImageFiles() = default;
  ImageFiles(const ImageFiles&) = delete;
  ImageFiles& operator=(const ImageFiles&) = delete;

  // The sample's path, relative to the tree.
  virtual std::string RelativePath(uint64_t sample) const = 0;
  // StampOf the file's state when it was indexed, or kNoFile.
  virtual uint64_t StampAt(uint64_t sample) const = 0;
  // Describes how a changed file differs from when it was indexed.
  virtual std::string FindChange(uint64_t sample, const FileState& now) const = 0;

  // The full path as valid UTF-8, with control characters and invalid bytes escaped.
  std::string DisplayPath(uint64_t sample) const;
  // Records that a file has changed, so that the next opening re-indexes. Returns DataLoss.
  absl::Status NoteChange(uint64_t sample, const std::string& how) const;

  const Tree tree;
  mutable std::atomic<bool> changed{false};

 private:
  // Called at the first change.
  virtual void Forget() const {}
};

// Adds the size and the bytes of a sample's file. **Errors**: as Dataset::Reader::Open.
absl::Status AddFileContent(const std::shared_ptr<const ImageFiles>& files, uint64_t sample,
                            Sha256& sum);

std::unique_ptr<Dataset::Reader> MakeImageReader(std::shared_ptr<const ImageFiles> files);

}  // namespace penstock::source
