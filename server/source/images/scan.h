// Scans a dataset's folders, on many threads, for all that its manifest needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/files/index_memory.h"
#include "server/source/files/tree.h"
#include "server/source/images/manifest.h"

namespace penstock::source {

// A sample's file, within its folder.
struct ScannedFile {
  uint32_t name_offset = 0;  // in its folder's names
  bool is_link = false;
  uint64_t bytes = 0;
  uint64_t stamp = 0;  // as in ManifestRecord
};

struct ScannedFolder {
  std::string path;  // relative to the root, "" for the root itself
  uint64_t entries = 0;
  int64_t mtime_ns = 0;
  uint64_t device = 0, inode = 0;
  std::string names;               // of its files, each with a NUL byte at its end
  std::vector<ScannedFile> files;  // sorted by name

  absl::string_view NameOf(const ScannedFile& file) const {
    return names.c_str() + file.name_offset;
  }
};

struct Scan {
  // The root, then each class's folders, in the order of their samples.
  std::vector<ScannedFolder> folders;
};

// The files of a scan, and the bytes of their paths from the root, each with one more.
struct ScannedPaths {
  uint64_t count = 0, bytes = 0;
};
ScannedPaths CountPaths(const Scan& scan);

struct ScanProgress {
  uint64_t found = 0;     // files listed
  uint64_t examined = 0;  // files whose size and time were read; equals `found` at the end
};

// Whether samples lie in class folders, or anywhere.
enum class ScanFor { kClasses, kImages };

struct ScanOptions {
  size_t threads = 1;
  // Called by the caller's thread about every 100 ms and once at the end; false cancels. May be
  // empty.
  std::function<bool(const ScanProgress&)> progress;
  // kImages: every image is a sample, wherever it is in the folder. The folders are then sorted by
  // their whole path, and none has to hold samples.
  ScanFor scan_for = ScanFor::kClasses;
  IndexMemory* memory = nullptr;  // counts what the scan takes; null: one of its own
};

// **Errors**: NotFound if there are no classes, or classes without samples; PermissionDenied if a
// folder cannot be read or a link leads out of the roots; FailedPrecondition for circular links and
// unusable names; Aborted if the folder keeps changing; ResourceExhausted if its files take too
// much memory, because links multiply them or not; Cancelled.
absl::StatusOr<Scan> ScanDataset(const Tree& tree, const ScanOptions& options);

}  // namespace penstock::source
