// The index of a folder dataset: one flat, read-only block of memory, identical in memory and on
// disk.
// **Thread safety**: immutable; any thread.
//
//   Header
//   Record[samples + 1]   16 bytes each, in sample order; the last one marks the end of the names
//   FolderRecord[folders] 64 bytes each, in the order of their samples; the first is the root
//   paths                 of the folders, without terminators: absolute for the root, else relative
//                         to the root
//   names                 of the files, without terminators
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "common/posix/memory.h"
#include "server/source/files/file_state.h"

namespace penstock::source {

struct ManifestHeader {
  char magic[8] = {};     // kManifestMagic
  uint32_t version = 0;   // kManifestVersion
  uint32_t reserved = 0;  // zero
  uint64_t samples = 0;
  uint64_t folders = 0;
  uint64_t path_bytes = 0;
  uint64_t name_bytes = 0;
  uint64_t digest = 0;    // of relative paths, sizes and labels
  uint64_t checksum = 0;  // of the whole manifest, this field zero
  uint64_t states = 0;    // hash of all stamps: identifies these files in these states
  uint64_t unused = 0;    // zero
};
static_assert(sizeof(ManifestHeader) == 80);

struct ManifestRecord {
  uint32_t name_offset = 0;  // in its folder's names; a name ends where the next one begins
  uint32_t bytes = 0;        // size of the file; the maximum value also stands for anything larger
  uint64_t stamp = 0;        // StampOf the file's state, or kNoFile
};
static_assert(sizeof(ManifestRecord) == 16);

struct FolderRecord {
  uint64_t path_offset = 0;
  uint32_t path_bytes = 0;
  uint32_t label = 0;         // kNoLabel for the root
  uint64_t first_sample = 0;  // its first sample; for a folder without samples, the next folder's
  uint64_t entries = 0;       // entries in the folder, of any type
  int64_t mtime_ns = 0;
  uint64_t first_name = 0;  // where its files' names begin
  uint64_t device = 0, inode = 0;
};
static_assert(sizeof(FolderRecord) == 64);

inline constexpr char kManifestMagic[8] = {'P', 'S', 'T', 'K', 'M', 'F', 'S', 'T'};
inline constexpr uint32_t kManifestVersion = 2;
inline constexpr uint32_t kNoLabel = UINT32_MAX;

class Manifest {
 public:
  // Takes ownership of a mapping that contains a manifest. **Errors**: DataLoss says what is wrong
  // with it.
  static absl::StatusOr<Manifest> FromMapping(posix::Mapping mapping);

  uint64_t samples() const { return header().samples; }
  uint64_t digest() const { return header().digest; }
  // Hexadecimal digits that are equal for two manifests of the same files in the same states, and
  // differ for two datasets that merely look alike.
  std::string Identity() const;
  std::span<const std::byte> bytes() const { return mapping_->bytes(); }
  // The same bytes, kept alive by the pointer.
  std::shared_ptr<const posix::Mapping> memory() const { return mapping_; }

  int64_t label(uint64_t sample) const { return FolderOf(sample).label; }
  std::string RelativePath(uint64_t sample) const;
  bool IsUnchanged(uint64_t sample, const FileState& now) const;
  // The size of the sample's file; nullopt if it exceeds what a record holds.
  std::optional<uint64_t> FileBytes(uint64_t sample) const;
  // Whether the sample is a regular file. If not, it is never opened.
  bool IsFile(uint64_t sample) const { return StampAt(sample) != kNoFile; }
  uint64_t StampAt(uint64_t sample) const;
  // Describes how a changed file differs from the manifest. **Requires**: it is not unchanged.
  std::string FindChange(uint64_t sample, const FileState& now) const;

  // The dataset's root, absolute.
  absl::string_view root() const { return FolderPath(0); }
  std::vector<std::string> Classes() const;

  // The samples of a folder.
  struct SampleRange {
    uint64_t first = 0, count = 0;
  };
  SampleRange SamplesIn(size_t folder) const;
  absl::string_view NameOf(uint64_t sample) const;

  // All folders, the root first.
  std::span<const FolderRecord> folders() const;
  std::string RelativeFolder(size_t folder) const;

 private:
  explicit Manifest(posix::Mapping mapping)
      : mapping_(std::make_shared<const posix::Mapping>(std::move(mapping))) {}

  bool IsConsistent() const;
  const ManifestHeader& header() const;
  std::span<const ManifestRecord> records() const;  // samples + 1 of them
  absl::string_view FolderPath(size_t folder) const;
  const FolderRecord& FolderOf(uint64_t sample) const;
  absl::string_view NameIn(const FolderRecord& folder, uint64_t sample) const;

  std::shared_ptr<const posix::Mapping> mapping_;  // shared with whoever stores it
};

}  // namespace penstock::source
