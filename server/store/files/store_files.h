// Files in object stores, for datasets.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "server/source/files/remote_file.h"
#include "server/store/files/pieces.h"
#include "server/store/files/settings.h"
#include "server/store/files/store_counts.h"
#include "server/store/files/store_watch.h"

namespace penstock::store {

struct OpenedStores;

// Loads libcurl when the first file is looked for. Settings and keys in files are read anew
// whenever files are looked for. The files that it finds may outlive it. **Thread safety**: any
// thread.
class StoreFiles final : public source::RemoteFiles {
 public:
  using ReadSettings = std::function<absl::StatusOr<StoreSettings>()>;
  struct Options {
    ReadSettings settings;  // may read files
    Pieces::Options pieces = {};
  };
  explicit StoreFiles(Options options);
  ~StoreFiles() override;  // calls Stop

  // **Errors**: also FailedPrecondition: libcurl is missing, or a setting is wrong.
  absl::StatusOr<Found> Find(std::span<const std::string> urls) override;
  // **Errors**: also InvalidArgument for web servers, which list nothing.
  absl::StatusOr<Found> List(const std::string& folder, absl::string_view suffix) override;

  // Replaces the settings, but for the cache and certificates that all places share, and has all
  // keys got anew. Files that were found are read by the new ones, too. Never waits.
  void SetSettings(const StoreSettings& settings);
  absl::Status ListPages(const std::string& folder, Depth depth, const TakePage& take) override;
  absl::StatusOr<std::shared_ptr<const source::RemoteFile>> Gather(
      source::GatheredFiles files) override;
  uint64_t StoreOf(const std::string& url) override;

  // Ends what is under way, and refuses whatever comes, with Cancelled.
  void Stop();
  // Call it some times a second: what was fetched for feeds that are over is let go, and what
  // should be known of the stores is logged. Never waits.
  void Tick(base::TimePoint now);

  // Nothing and zeros while no file was looked for. Never wait.
  StoreCounts counts() const;
  StoreRates rates() const;

 private:
  class File;
  struct WantedFile {
    std::string url = {};
    std::optional<bool> has_index = {};  // whether an index lies beside it; not set: unknown
  };

  static absl::StatusOr<Found> FindAll(const std::shared_ptr<OpenedStores>& store,
                                       std::span<const WantedFile> wanted);
  absl::StatusOr<std::shared_ptr<OpenedStores>> Opened();
  absl::StatusOr<StoreSettings> Settings();

  const Options options_;
  base::Mutex opening_;  // one at a time reads files; Stop and Tick don't wait for that
  mutable base::Mutex mutex_;
  // Since SetSettings; before, they are read by `options_`.
  std::optional<StoreSettings> settings_ PENSTOCK_GUARDED_BY(mutex_);
  std::shared_ptr<OpenedStores> store_ PENSTOCK_GUARDED_BY(mutex_);
  StoreWatch watch_ PENSTOCK_GUARDED_BY(mutex_);
  bool stopped_ PENSTOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::store
