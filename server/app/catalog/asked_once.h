// Asks stores once about each file and folder while a dataset is opened. Opening looks at its files
// several times, because local files may change meanwhile. A remote file cannot: it stays the
// version that was found, and no other one is read.
// **Thread safety**: any thread. **Ownership**: of one opening; the files may outlive it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "server/source/files/remote_file.h"

namespace penstock::app {

class AskedOnce final : public source::RemoteFiles {
 public:
  // **Requires**: the stores outlive it.
  explicit AskedOnce(source::RemoteFiles& stores) : stores_(stores) {}

  // Errors are not remembered.
  absl::StatusOr<Found> Find(std::span<const std::string> urls) override;
  absl::StatusOr<Found> List(const std::string& folder, absl::string_view suffix) override;

  absl::Status ListPages(const std::string& folder, Depth depth, const TakePage& take) override {
    return stores_.ListPages(folder, depth, take);
  }
  absl::StatusOr<std::shared_ptr<const source::RemoteFile>> Gather(
      source::GatheredFiles files) override {
    return stores_.Gather(std::move(files));
  }
  uint64_t StoreOf(const std::string& url) override { return stores_.StoreOf(url); }

 private:
  std::vector<std::string> UnknownOf(std::span<const std::string> urls) const;

  source::RemoteFiles& stores_;
  mutable base::Mutex mutex_;  // not held while a store is asked
  std::map<std::string, std::shared_ptr<const source::RemoteFile>> files_
      PENSTOCK_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, Found> folders_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
