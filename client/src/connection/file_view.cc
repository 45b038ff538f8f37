#include "client/src/connection/file_view.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace penstock::client {
namespace {

std::string PathOf(const std::string& directory) { return absl::StrCat(directory, "/view"); }

// All zero if stat fails.
struct stat StatOf(const char* path) {
  struct stat status = {};
  if (::stat(path, &status) != 0) status = {};
  return status;
}

}  // namespace

std::string OurFileView() {
  const struct stat mounts = StatOf("/proc/self/ns/mnt"), root = StatOf("/");
  return absl::StrCat("mounts ", mounts.st_ino, " root ", root.st_dev, ":", root.st_ino);
}

std::string FileViewName() {
  const struct stat mounts = StatOf("/proc/self/ns/mnt"), root = StatOf("/");
  return absl::StrCat(absl::Hex(mounts.st_ino), "-", absl::Hex(root.st_dev), "-",
                      absl::Hex(root.st_ino));
}

absl::Status WriteFileView(const std::string& directory) {
  const std::string path = PathOf(directory), written = absl::StrCat(path, ".new");
  std::ofstream file(written, std::ios::trunc);
  file << OurFileView() << '\n';
  file.close();
  if (!file || std::rename(written.c_str(), path.c_str()) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("writing ", path));
  return absl::OkStatus();
}

bool HasOtherFileView(const std::string& directory) {
  std::ifstream file(PathOf(directory));
  std::string line;
  return std::getline(file, line) && line != OurFileView();
}

}  // namespace penstock::client
