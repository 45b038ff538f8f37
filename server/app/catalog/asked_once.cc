#include "server/app/catalog/asked_once.h"

namespace penstock::app {

std::vector<std::string> AskedOnce::UnknownOf(std::span<const std::string> urls) const {
  std::vector<std::string> unknown;
  const base::MutexLock lock(mutex_);
  for (const std::string& url : urls)
    if (!files_.contains(url)) unknown.push_back(url);
  return unknown;
}

absl::StatusOr<source::RemoteFiles::Found> AskedOnce::Find(std::span<const std::string> urls) {
  const std::vector<std::string> unknown = UnknownOf(urls);
  Found found;
  if (!unknown.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(found, stores_.Find(unknown));
  }
  const base::MutexLock lock(mutex_);
  for (size_t i = 0; i < unknown.size(); ++i) files_.emplace(unknown[i], found[i]);
  Found all;
  for (const std::string& url : urls) all.push_back(files_.at(url));
  return all;
}

absl::StatusOr<source::RemoteFiles::Found> AskedOnce::List(const std::string& folder,
                                                           absl::string_view suffix) {
  const std::pair<std::string, std::string> key(folder, suffix);
  {
    const base::MutexLock lock(mutex_);
    if (const auto known = folders_.find(key); known != folders_.end()) return known->second;
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Found found, stores_.List(folder, suffix));
  const base::MutexLock lock(mutex_);
  return folders_.emplace(key, found).first->second;
}

}  // namespace penstock::app
