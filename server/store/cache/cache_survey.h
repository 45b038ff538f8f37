// Looks at a folder that keeps pieces of objects, for people: also while a daemon uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/cache/known_file.h"

namespace penstock::store {

// What the folder keeps of one object.
struct CachedObject {
  std::string name = {};      // of its files, without an ending
  std::string url = {};       // without secrets; empty: unknown
  std::string endpoint = {};  // of its store; empty: the usual one, or unknown
  uint64_t object_bytes = 0;  // of the whole object
  uint64_t pieces = 0;
  uint64_t kept_bytes = 0;  // of the pieces
  uint64_t disk_bytes = 0;  // that its files take
  int64_t used_ns = 0;      // when it was last opened
  uint64_t damaged = 0;     // pieces that are not what was written, if they were verified
};

// All objects, by URL. Reads indexes alone. **Errors**: those of the file system.
absl::StatusOr<std::vector<CachedObject>> SurveyCache(const std::string& path);

// The same, and reads every piece. `progress` gets the bytes that were read so far; false cancels.
// A daemon that reads a damaged piece fetches it again. **Errors**: also Cancelled.
absl::StatusOr<std::vector<CachedObject>> VerifyCache(
    const std::string& path, const std::function<bool(uint64_t)>& progress);

// How many answers of stores the folder keeps, and how many of them are not what was written: those
// count as unknown. **Errors**: as SurveyCache.
absl::StatusOr<KnownLines> VerifyAnswers(const std::string& path);

// Removes everything that is kept; returns how many bytes the files took. **Errors**:
// FailedPrecondition: a daemon uses the folder, or it is none of a cache.
absl::StatusOr<uint64_t> ClearCache(const std::string& path);

}  // namespace penstock::store
