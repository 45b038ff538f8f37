// Reads the configuration again while the daemon runs, and applies the keys that may change.
//
// **Ownership**: owned by the daemon. **Thread safety**: Ask on any thread; everything else on the
// thread of the daemon's Tick.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/catalog/offered_datasets.h"
#include "server/app/config/config.h"
#include "server/rpc/controller.h"
#include "server/session/asked_by.h"

namespace penstock::app {

class Reloads {
 public:
  struct Options {
    config::v1::Config config = {};  // current at the start
    std::string file = {};           // the path that `read` reads
    // Reads the configuration again; null for a private daemon, which has no file.
    std::function<absl::StatusOr<ConfigFile>()> read;
    // Checks a valid configuration against this machine.
    std::function<absl::Status(const ConfigFile&)> check;
    // Applies a configuration, and the datasets that it offers.
    std::function<void(const config::v1::Config&, DatasetOffer)> apply;
  };
  explicit Reloads(Options options) : options_(std::move(options)), config_(options_.config) {}

  // The current configuration.
  const config::v1::Config& config() const { return config_; }

  // Returns a description of the changed keys. **Errors**: FailedPrecondition if the file is
  // invalid or changes what cannot change now; then nothing changed.
  absl::StatusOr<std::vector<std::string>> Reload(const session::AskedBy& asked_by);

  using Done = rpc::Callback<v1::ReloadResponse>;
  bool can_reload() const { return options_.read != nullptr; }
  // The next AnswerAll answers it. The process that asked is only logged.
  void Ask(Done done, const session::AskedBy& asked_by, const rpc::MeantFile& file = {});
  // All requests since the last call get the same answer, except that those that mean another file
  // are refused.
  void AnswerAll();
  void RefuseAll(const absl::Status& why);

 private:
  struct AskedReload {
    Done done;
    session::AskedBy by;
    rpc::MeantFile file;
  };
  absl::Status CheckIsOurs(const rpc::MeantFile& file) const;
  std::vector<AskedReload> TakeAsked();

  const Options options_;
  config::v1::Config config_;
  base::Mutex mutex_;
  std::vector<AskedReload> asked_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
