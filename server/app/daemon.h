// The composition root: makes the daemon's parts in start order and ends them in reverse.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/canary.h"
#include "server/app/catalog/catalog.h"
#include "server/app/deferred_sender.h"
#include "server/app/gpu_probe.h"
#include "server/app/operator/metrics_port.h"
#include "server/app/service.h"
#include "server/doorway/address.h"
#include "server/doorway/doorway.h"
#include "server/feed/engine/runner.h"
#include "server/rpc/server.h"

namespace penstock::app {

struct DaemonOptions {
  config::v1::Config config;
  // Reads it again; null: it was read from nowhere, as a private daemon's.
  std::function<absl::StatusOr<config::v1::Config>()> read_again = {};
  bool private_daemon = false;  // takes any path that its user may read
};

class Daemon {
 public:
  // Takes sessions when it returns, and is ready once a canary came through. A status says what
  // keeps it from serving, and the remedy.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const DaemonOptions& options);
  ~Daemon();

  // One thread, several times a second: forgets what clients left behind, and writes the line that
  // says what serves here, once it is ready.
  void Tick(base::TimePoint now);
  // How long nobody has had a session or a connection. The same thread.
  base::Duration IdleFor(base::TimePoint now);
  feed::Vitals vitals() const { return runner_->vitals(); }
  // A batch came all the way through, and there still is a worker.
  bool ready() const { return canary_.came_through(); }
  // No session is opened any more, and each ends with its epoch; health says "not serving". Any
  // thread.
  void Drain();
  // It drains, and none is left in an epoch.
  bool drained() const;
  bool has_visitors() const { return runner_->sessions() > 0 || service_->connected() > 0; }
  base::Duration drain_for() const;

  // Reads the configuration's file again: the keys that changed, in words. FailedPrecondition:
  // nothing changed, because the file is wrong, or asks for what cannot be changed now. The thread
  // of Tick.
  absl::StatusOr<std::vector<std::string>> Reload();

  // Why batches are not delivered any more, if so. From then on health says "not serving", for
  // good.
  absl::Status Health();

 private:
  explicit Daemon(const DaemonOptions& options) : options_(options), config_(options.config) {}
  absl::Status StartParts();
  std::optional<std::vector<uint64_t>> AskForSlots(const feed::DatasetState& state);
  void LookAtCanary();
  void SayServing(base::TimePoint now);
  void SetHealth();
  std::vector<rpc::Callback<v1::ReloadResponse>> TakeReloads();
  void AnswerReloads();
  // What the metrics' thread asks.
  bool AskForSnapshot(status::Collector::Done done);
  status::Facts GetFacts() const;
  std::map<std::string, uint64_t> CutOff() const;

  const DaemonOptions options_;
  config::v1::Config config_;  // what is in force; the thread of Tick
  std::atomic<bool> draining_ = false, failed_ = false;
  std::atomic<uint64_t> cut_off_ = 0;  // as of the last tick
  base::Mutex mutex_;
  std::vector<rpc::Callback<v1::ReloadResponse>> reloads_ PENSTOCK_GUARDED_BY(mutex_);
  const base::TimePoint started_ = base::Now();
  bool said_serving_ = false, was_ready_ = false;

  // In start order: later ones use earlier ones.
  std::optional<doorway::Claim> address_;
  std::optional<doorway::Claim> admin_address_;  // a private daemon has none
  std::unique_ptr<MetricsPort> metrics_;         // null: not asked for
  DeferredSender deferred_sender_;
  Canary canary_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<feed::Runner> runner_;
  std::optional<GpuProbe> gpu_probe_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<doorway::Doorway> doorway_;
  std::unique_ptr<rpc::Server> server_;
  std::optional<base::TimePoint> idle_since_;
};

}  // namespace penstock::app
