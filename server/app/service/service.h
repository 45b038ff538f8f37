// Implements the gRPC services: identifies the caller and the objects, and passes the request to
// the catalogue and the runner.
// **Thread safety**: any thread. Never blocks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "penstock/v1/page.pb.h"
#include "server/app/catalog/catalog.h"
#include "server/app/catalog/content_digests.h"
#include "server/app/catalog/place_looks.h"
#include "server/app/operator/bad_sample_pictures.h"
#include "server/app/service/connected_clients.h"
#include "server/app/service/given_orders.h"
#include "server/app/service/makers_door.h"
#include "server/app/service/reply_executor.h"
#include "server/feed/engine/runner.h"
#include "server/rpc/access/access.h"
#include "server/rpc/controller.h"

namespace penstock::app {

class Service final : public rpc::Controller, public doorway::Visitor {
 public:
  struct Options {
    bool private_daemon = false;
    std::string sandbox = {};  // of the workers, as GetStatusResponse shows it
    GivenOrders::Options orders = {};
    size_t digest_threads = 1;  // reading threads per content digest
    std::function<bool()> delivers_to_gpus = [] { return false; };  // any thread
    // Any thread; answers later, on another one.
    std::function<void(const rpc::MeantFile&, const session::AskedBy&,
                       rpc::Callback<v1::ReloadResponse>)>
        reload = {};
    // Called when draining starts or stops; any thread.
    std::function<void(bool)> draining = [](bool) {};
    // Indexers that their sandbox killed so far; any thread.
    std::function<uint64_t()> indexers_forbidden_calls = [] { return 0; };
    // Reading from object stores; not set: there was none.
    std::function<std::optional<v1::StoreStatus>()> stores = [] { return std::nullopt; };
    std::function<std::string()> not_ready = [] { return ""; };  // the reason; any thread
    // Number of connections so far; any thread.
    std::function<uint64_t()> cut_off = [] { return 0; };
    // Called when a peer that left holds nothing any more; any thread.
    std::function<void(uint64_t peer)> forget = [](uint64_t) {};
  };
  // **Requires**: all three outlive the service.
  Service(Options options, Catalog& catalog, feed::Runner& runner);

  void DescribeSamples(const rpc::Permit& permit, const std::string& dataset,
                       std::vector<uint64_t> ids, rpc::Cancelled cancelled,
                       rpc::Callback<std::vector<rpc::SampleDescription>> done) override;
  void GetProgress(const rpc::Permit& permit, uint64_t session_id,
                   rpc::Callback<rpc::Progress> done) override;
  void ReportUndecodable(const rpc::Permit& permit, uint64_t session_id,
                         std::vector<uint64_t> samples, rpc::Callback<bool> done) override;
  absl::StatusOr<std::unique_ptr<rpc::IncomingOrder>> ReceiveOrder(const rpc::Permit& permit,
                                                                   uint64_t length) override;
  void OpenSession(const rpc::Permit& permit, session::Request request, rpc::Cancelled cancelled,
                   rpc::Callback<session::Grant> done) override;
  void ListSlabs(const rpc::Permit& permit, uint64_t session_id,
                 rpc::Callback<std::vector<exporting::SlabFacts>> done) override;
  void CloseSession(const rpc::Permit& permit, uint64_t session_id,
                    rpc::Callback<bool> done) override;
  void DescribeDataset(const rpc::Permit& permit, const rpc::DescribeQuery& query,
                       rpc::Callback<rpc::DatasetDescription> done) override;
  void DigestDataset(const rpc::Permit& permit, const rpc::DescribeQuery& query,
                     rpc::Callback<rpc::DatasetDescription> done) override;
  void IndexDataset(const rpc::Permit& permit, const rpc::IndexRequest& request,
                    std::function<bool()> cancelled,
                    rpc::Callback<rpc::IndexProgress> progress) override;
  void TakeTrace(const rpc::Permit& permit, base::Duration length, std::function<bool()> cancelled,
                 rpc::Callback<std::unique_ptr<rpc::TraceSource>> done) override;
  void GetStatus(const rpc::Permit& permit, rpc::Callback<v1::GetStatusResponse> done) override;
  void ListSessions(const rpc::Permit& permit,
                    rpc::Callback<v1::ListSessionsResponse> done) override;
  void ListWorkers(const rpc::Permit& permit, rpc::Callback<v1::ListWorkersResponse> done) override;
  void ListDatasets(const rpc::Permit& permit,
                    rpc::Callback<v1::ListDatasetsResponse> done) override;
  void LookAtDatasets(const rpc::Permit& permit,
                      rpc::Callback<v1::ListDatasetsResponse> done) override;
  void ListQuarantine(const rpc::Permit& permit, const rpc::QuarantineQuery& query,
                      rpc::Callback<v1::ListQuarantineResponse> done) override;
  void ClearQuarantine(const rpc::Permit& permit, const std::string& dataset,
                       rpc::Callback<v1::ClearQuarantineResponse> done) override;
  void LookAround(const rpc::Permit& permit, rpc::Callback<v1::WatchStatusResponse> done) override;
  void SetWorkers(const rpc::Permit& permit, uint32_t count,
                  rpc::Callback<v1::SetWorkersResponse> done) override;
  void SetDraining(const rpc::Permit& permit, bool draining,
                   rpc::Callback<v1::DrainResponse> done) override;
  void GetDraining(const rpc::Permit& permit, rpc::Callback<v1::DrainResponse> done) override;
  void Reload(const rpc::Permit& permit, const rpc::MeantFile& file,
              rpc::Callback<v1::ReloadResponse> done) override;

  absl::Status MayEnter(const doorway::Peer& peer) override;
  bool reads_urls() const override { return options_.private_daemon; }
  void OnArrived(const doorway::Peer& peer) override;
  void OnDisconnected(doorway::PeerId peer) override;
  void OnGone(doorway::PeerId peer) override;

  // What the metrics port's page shows: what /metrics does, what operators see, or with pictures of
  // bad samples, too. Answers later, on another thread. False: the runner takes no question now.
  enum class PageDetail { kSummary, kFull, kPictures };
  bool AskForPage(PageDetail detail,
                  std::function<void(std::shared_ptr<const v1::StatusPage>)> done);
  // Looks for a bad sample whose picture may be shown, as FindBadSample does. Answers later, on the
  // runner's thread. False: the runner takes no question now.
  bool AskForBadSample(const status::BadSampleName& name, BadSamplePictures::Done done);

  size_t connected() const { return peers_.size(); }
  // Starts a drain that a signal requested.
  void Drain(const session::AskedBy& asked_by);
  // Drops what nobody needs any more. Call it several times a second.
  void Tick(base::TimePoint now) {
    orders_.Tick(now);
    looks_.Tick(now);
    ForgetThoseWhoHoldNothing();
  }

 private:
  // Runs `job` on the runner's thread; the reply executor answers with its result.
  template <typename T>
  void Ask(rpc::Callback<T> done,
           std::function<absl::StatusOr<T>(feed::Engine&, base::TimePoint)> job);
  v1::GetStatusResponse StatusOf(feed::Engine& engine, const Opener& viewer,
                                 base::TimePoint now) const;
  v1::WatchStatusResponse Look(feed::Engine& engine, const Opener& viewer,
                               base::TimePoint now) const;
  void SetDraining(bool draining, const session::AskedBy& asked_by,
                   rpc::Callback<v1::DrainResponse> done);
  void ForgetThoseWhoHoldNothing();
  void Describe(const Opener& opener, const rpc::DescribeQuery& query,
                const rpc::Callback<rpc::DatasetDescription>& done);
  void OpenOn(feed::OpenRequest open, const rpc::Permit& permit,
              const rpc::Callback<session::Grant>& done);

  const Options options_;
  const base::TimePoint started_ = base::Now();
  Catalog& catalog_;
  feed::Runner& runner_;
  ConnectedClients peers_;
  MakersDoor makers_;
  GivenOrders orders_;
  ContentDigests digests_;
  PlaceLooks looks_;
  ReplyExecutor reply_executor_;
  // A peer has left whose process may still use something of ours.
  std::atomic<bool> someone_holds_ = false;
  std::set<uint64_t> holders_;  // used by the runner's thread
};

}  // namespace penstock::app
