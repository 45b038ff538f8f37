// Reads the configuration again while the daemon runs, and puts the keys that may change into
// force.
//
// **Ownership**: the daemon. **Thread safety**: Ask on any thread; all else on the thread of the
// daemon's Tick.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/catalog/offered_datasets.h"
#include "server/rpc/controller.h"

namespace penstock::app {

class Reloads {
 public:
  struct Options {
    config::v1::Config config;  // in force at the start
    // Reads it again; null: it was read from nowhere, as a private daemon's.
    std::function<absl::StatusOr<config::v1::Config>()> read;
    // What is wrong with a configuration that can be read, on this machine.
    std::function<absl::Status(const config::v1::Config&)> check;
    // Puts a configuration into force, and the datasets that it offers.
    std::function<void(const config::v1::Config&, DatasetOffer)> apply;
  };
  explicit Reloads(Options options) : options_(std::move(options)), config_(options_.config) {}

  // What is in force.
  const config::v1::Config& config() const { return config_; }

  // The keys that changed, in words. **Errors**: FailedPrecondition: nothing changed, because the
  // file is wrong, or asks for what cannot be changed now.
  absl::StatusOr<std::vector<std::string>> Reload();

  using Done = rpc::Callback<v1::ReloadResponse>;
  bool can_reload() const { return options_.read != nullptr; }
  // The next AnswerAll answers.
  void Ask(Done done);
  // Those who asked meanwhile get one answer.
  void AnswerAll();
  void RefuseAll(const absl::Status& why);

 private:
  std::vector<Done> TakeAsked();

  const Options options_;
  config::v1::Config config_;
  base::Mutex mutex_;
  std::vector<Done> asked_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
