#include "client/src/connection/program.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock::client {
namespace {

constexpr char kName[] = "penstockd";

// The folder of the file that contains this code; empty if the loader cannot tell.
std::filesystem::path OwnFolder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&FindDaemonProgram), &info) == 0) return {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path() : file.parent_path();
}

std::vector<std::string> Candidates() {
  std::vector<std::string> candidates;
  if (const std::filesystem::path own = OwnFolder(); !own.empty()) {
    for (const char* folder : {"../bin", "../../bin", "."}) {
      candidates.push_back((own / folder / kName).lexically_normal().string());
    }
  }
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder :
       absl::StrSplit(path == nullptr ? "" : path, ':', absl::SkipEmpty())) {
    candidates.push_back(absl::StrCat(folder, "/", kName));
  }
  return candidates;
}

}  // namespace

absl::StatusOr<std::string> FindDaemonProgram() {
  if (const char* asked = std::getenv("PENSTOCK_DAEMON"); asked != nullptr && *asked != '\0') {
    if (::access(asked, X_OK) == 0) return std::string(asked);
    return base::ErrnoStatus(errno, absl::StrCat("$PENSTOCK_DAEMON is ", asked),
                             "set it to the daemon's program");
  }
  const std::vector<std::string> candidates = Candidates();
  for (const std::string& candidate : candidates) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return absl::NotFoundError(absl::StrCat("no program ", kName, " found at ",
                                          absl::StrJoin(candidates, ", "),
                                          "; set PENSTOCK_DAEMON to its path"));
}

}  // namespace penstock::client
