#include "tests/bench/harness/scratch.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace penstock::bench {

absl::StatusOr<ScratchFolder> ScratchFolder::Make() {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  std::string path = (root / "penstock-bench-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return base::ErrnoStatus(error ? error.value() : errno, "creating a temporary folder",
                             "set TMPDIR to a writable folder");
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace penstock::bench
