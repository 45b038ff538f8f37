#include "server/app/catalog/roots_check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/telemetry/log.h"
#include "server/source/files/roots.h"

namespace penstock::app {
namespace {

constexpr std::chrono::seconds kWithin(2);

// Shared by the waiting caller and the checking thread, which may outlive the call.
struct Search {
  explicit Search(std::vector<ConfiguredRoot> all) : roots(std::move(all)) {}

  const std::vector<ConfiguredRoot> roots;
  std::promise<absl::Status> found;
  base::Mutex mutex;
  size_t at PENSTOCK_GUARDED_BY(mutex) = 0;
};

absl::Status Named(const ConfiguredRoot& root, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(root.key, ": ", status.message()));
}

// The first missing folder, else the first that could not be checked.
absl::Status FirstOf(Search& search, const Look& look) {
  absl::Status doubt;
  for (size_t i = 0; i < search.roots.size(); ++i) {
    {
      base::MutexLock lock(search.mutex);
      search.at = i;
    }
    const absl::Status status = look(search.roots[i].path);
    if (absl::IsFailedPrecondition(status)) return Named(search.roots[i], status);
    if (doubt.ok() && !status.ok()) doubt = Named(search.roots[i], status);
  }
  return doubt;
}

}  // namespace

std::vector<ConfiguredRoot> RootsOf(const config::v1::Config& config) {
  std::vector<ConfiguredRoot> roots;
  for (int i = 0; i < config.source().roots_size(); ++i)
    roots.push_back({absl::StrCat("source.roots[", i, "]"), config.source().roots(i)});
  if (!roots.empty()) return roots;
  for (int i = 0; i < config.datasets_size(); ++i)
    if (!config.datasets(i).folder().empty())
      roots.push_back({absl::StrCat("datasets[", i, "].folder"), config.datasets(i).folder()});
  return roots;
}

absl::Status LookAtFolder(const std::string& path) {
  struct stat status;
  const bool there = ::stat(path.c_str(), &status) == 0;
  if (there && !S_ISDIR(status.st_mode))
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a folder; correct the configuration"));
  if (there && ::faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) == 0)
    return absl::OkStatus();
  const int error = errno;
  const std::string words(base::ErrnoStatus(error, path).message());
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return absl::FailedPreconditionError(
          absl::StrCat(words, "; mount it, or correct the configuration"));
    case EACCES:
      return absl::FailedPreconditionError(
          absl::StrCat(words, "; let user ", ::geteuid(), " list it and enter every folder above"));
    default:
      return absl::UnavailableError(words);
  }
}

absl::Status LookAtRoots(const std::vector<ConfiguredRoot>& roots, base::Duration deadline,
                         const Look& look) {
  if (roots.empty()) return absl::OkStatus();
  const auto search = std::make_shared<Search>(roots);
  std::future<absl::Status> found = search->found.get_future();
  std::thread([search, look] {
    pthread_setname_np(pthread_self(), "roots");
    search->found.set_value(FirstOf(*search, look));
  }).detach();
  if (found.wait_for(deadline) == std::future_status::ready) return found.get();
  base::MutexLock lock(search->mutex);
  const ConfiguredRoot& silent = search->roots[search->at];
  return absl::DeadlineExceededError(absl::StrCat(silent.key, ": ", silent.path, ": no answer"));
}

absl::Status LookForDatasetOutside(const config::v1::Config& config, base::Duration deadline) {
  const std::vector<std::string> roots(config.source().roots().begin(),
                                       config.source().roots().end());
  if (roots.empty()) return absl::OkStatus();
  std::vector<ConfiguredRoot> folders;
  for (int i = 0; i < config.datasets_size(); ++i)
    if (!config.datasets(i).folder().empty())
      folders.push_back({absl::StrCat("datasets[", i, "].folder"), config.datasets(i).folder()});
  return LookAtRoots(folders, deadline, [roots](const std::string& path) {
    const absl::Status found = source::ResolveUnderRoots(path, roots).status();
    if (!absl::IsPermissionDenied(found)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(found.message(), "; until then nobody can open this dataset"));
  });
}

absl::Status CheckRoots(const config::v1::Config& config) {
  if (const absl::Status outside = LookForDatasetOutside(config, kWithin);
      absl::IsFailedPrecondition(outside))
    PENSTOCK_LOG(kWarning, "dataset_outside_roots", {"reason", outside.message()});
  const absl::Status status = LookAtRoots(RootsOf(config), kWithin);
  if (status.ok() || absl::IsFailedPrecondition(status)) return status;
  PENSTOCK_LOG(kWarning, "root_silent", {"reason", status.message()});
  return absl::OkStatus();
}

}  // namespace penstock::app
