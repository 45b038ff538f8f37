// Files in object stores, for datasets.
#pragma once

#include <memory>
#include <optional>

#include "common/base/mutex.h"
#include "server/source/files/remote_file.h"
#include "server/store/files/pieces.h"
#include "server/store/files/settings.h"

namespace penstock::store {

// Loads libcurl when the first file is looked for, and reads keys anew whenever files are looked
// for. The files that it finds may outlive it. **Thread safety**: any thread.
class StoreFiles final : public source::RemoteFiles {
 public:
  struct Options {
    Environment environment = {};
    Pieces::Options pieces = {};
  };
  explicit StoreFiles(Options options);
  ~StoreFiles() override;  // calls Stop

  // **Errors**: also FailedPrecondition: libcurl is missing, or a setting is wrong.
  absl::StatusOr<Found> Find(std::span<const std::string> urls) override;
  // **Errors**: also InvalidArgument for web servers, which list nothing.
  absl::StatusOr<Found> List(const std::string& folder, absl::string_view suffix) override;

  absl::Status ListPages(const std::string& folder, Depth depth, const TakePage& take) override;
  absl::StatusOr<std::shared_ptr<const source::RemoteFile>> Gather(
      source::GatheredFiles files) override;
  uint64_t StoreOf(const std::string& url) const override;

  // Ends what is under way, and refuses whatever comes, with Cancelled.
  void Stop();
  // Call it from time to time: what was fetched for feeds that are over is let go. Never waits.
  void Tick();

 private:
  struct Store;
  class File;

  absl::StatusOr<std::shared_ptr<Store>> Opened();

  const Options options_;
  base::Mutex opening_;  // one at a time reads files; Stop and Tick don't wait for that
  base::Mutex mutex_;
  std::shared_ptr<Store> store_ PENSTOCK_GUARDED_BY(mutex_);
  bool stopped_ PENSTOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::store
