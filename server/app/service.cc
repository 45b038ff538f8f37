#include "server/app/service.h"

#include <utility>

#include "common/telemetry/log.h"
#include "server/app/reports.h"

namespace penstock::app {
namespace {

Opener OpenerOf(const doorway::Peer& peer) {
  Opener opener{.uid = peer.uid, .groups = peer.groups};
  opener.groups.push_back(peer.gid);
  return opener;
}

feed::OpenRequest RequestOf(const rpc::SessionRequest& from, const doorway::Peer& peer,
                            Catalog::State dataset) {
  feed::OpenRequest request;
  request.peer = peer.id.value();
  request.user = peer.uid;
  request.pid = peer.pid;
  request.client = peer.client;
  request.name = from.name;
  request.order = from.order;
  request.seed = from.seed;
  request.decoding = from.spec;
  request.share = {.samples = dataset->dataset->samples(),
                   .consumed = from.consumed,
                   .world = from.world,
                   .rank = from.rank,
                   .batch_size = from.batch_size,
                   .remainder = from.remainder};
  request.first_epoch = from.epoch;
  request.epochs = from.epochs;
  request.window = from.window;
  request.expected_fingerprint = from.expected_fingerprint;
  request.fail_on_bad_sample = from.fail_on_bad_sample;
  request.dataset = std::move(dataset);
  return request;
}

rpc::SessionGrant GrantOf(const feed::Grant& grant, const feed::OpenRequest& request) {
  const source::Dataset& dataset = *request.dataset->dataset;
  return {.session_id = grant.session,
          .fingerprint = grant.fingerprint,
          .row_bytes = grant.layout.row_bytes,
          .labels_offset = grant.layout.labels_offset,
          .ids_offset = grant.layout.ids_offset,
          .slot_bytes = grant.layout.slot_bytes,
          .samples = dataset.samples(),
          .classes = static_cast<uint32_t>(dataset.classes().size()),
          .first_epoch_batches = grant.first_epoch_batches,
          .epoch_batches = grant.epoch_batches,
          .window = request.window,
          .quarantine_version = grant.quarantine_version,
          .segments = {}};
}

}  // namespace

Service::Service(Options options, Catalog& catalog, feed::Runner& runner)
    : options_(options), catalog_(catalog), runner_(runner) {}

template <typename T>
void Service::Ask(rpc::Callback<T> done,
                  std::function<absl::StatusOr<T>(feed::Engine&, base::TimePoint)> job) {
  const bool posted =
      runner_.Post([done, job = std::move(job)](feed::Engine& engine, base::TimePoint now) {
        done(job(engine, now));
      });
  if (!posted)
    done(absl::UnavailableError("the daemon is ending, or has too much to do; try again"));
}

void Service::OpenSession(rpc::SessionRequest request, rpc::Callback<rpc::SessionGrant> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(request.ticket);
  if (!peer.ok()) return done(peer.status());
  const std::string dataset = request.dataset;
  const Opener opener = OpenerOf(*peer);
  catalog_.Open(
      dataset, opener,
      [this, request = std::move(request), peer = *std::move(peer),
       done = std::move(done)](absl::StatusOr<Catalog::State> state) {
        if (!state.ok()) return done(state.status());
        feed::OpenRequest open = RequestOf(request, peer, *std::move(state));
        Ask<rpc::SessionGrant>(
            done,
            [open = std::move(open)](feed::Engine& engine,
                                     base::TimePoint now) -> absl::StatusOr<rpc::SessionGrant> {
              PENSTOCK_ASSIGN_OR_RETURN(const feed::Grant grant, engine.Open(open, now));
              PENSTOCK_LOG(kInfo, "session_opened", {"session", grant.session},
                           {"dataset", open.dataset->name}, {"user", open.user}, {"pid", open.pid},
                           {"rank", open.share.rank}, {"world", open.share.world},
                           {"batch", open.share.batch_size}, {"window", open.window});
              return GrantOf(grant, open);
            });
      });
}

void Service::CloseSession(const rpc::Ticket& ticket, uint64_t session_id,
                           rpc::Callback<bool> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(ticket);
  if (!peer.ok()) return done(peer.status());
  Ask<bool>(std::move(done),
            [id = peer->id.value(), session_id](feed::Engine& engine,
                                                base::TimePoint now) -> absl::StatusOr<bool> {
              PENSTOCK_RETURN_IF_ERROR(engine.Close(id, session_id, now));
              PENSTOCK_LOG(kInfo, "session_closed", {"session", session_id});
              return true;
            });
}

void Service::DescribeDataset(const rpc::Ticket& ticket, const std::string& dataset,
                              rpc::Callback<rpc::DatasetDescription> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(ticket);
  if (!peer.ok()) return done(peer.status());
  catalog_.Open(dataset, OpenerOf(*peer), [done](absl::StatusOr<Catalog::State> state) {
    if (!state.ok()) return done(state.status());
    const source::Dataset& opened = *(*state)->dataset;
    done(rpc::DatasetDescription{.name = (*state)->name,
                                 .samples = opened.samples(),
                                 .digest = opened.digest(),
                                 .classes = opened.classes()});
  });
}

void Service::IndexDataset(const std::string& dataset, std::function<bool()> cancelled,
                           rpc::Callback<rpc::IndexProgress> progress) {
  catalog_.Index(dataset, std::move(cancelled), std::move(progress));
}

void Service::GetStatus(rpc::Callback<v1::GetStatusResponse> done) {
  Ask<v1::GetStatusResponse>(std::move(done), [this](feed::Engine& engine, base::TimePoint now) {
    v1::GetStatusResponse response = ReportStatus(engine, now);
    response.set_private_daemon(options_.private_daemon);
    response.set_uptime_ms(static_cast<uint64_t>((now - started_).count() / 1'000'000));
    for (const DatasetView& view : catalog_.List())
      if (view.state != nullptr)
        response.set_quarantined(response.quarantined() + BadSamples(*view.state));
    return response;
  });
}

void Service::ListSessions(rpc::Callback<v1::ListSessionsResponse> done) {
  Ask<v1::ListSessionsResponse>(std::move(done), [](feed::Engine& engine, base::TimePoint) {
    return ReportSessions(engine);
  });
}

void Service::ListWorkers(rpc::Callback<v1::ListWorkersResponse> done) {
  Ask<v1::ListWorkersResponse>(std::move(done), [](feed::Engine& engine, base::TimePoint now) {
    return ReportWorkers(engine, now);
  });
}

// Quarantines belong to the runner's thread, so lists that show them are made there.
void Service::ListDatasets(rpc::Callback<v1::ListDatasetsResponse> done) {
  Ask<v1::ListDatasetsResponse>(std::move(done), [this](feed::Engine&, base::TimePoint) {
    return ReportDatasets(catalog_.List());
  });
}

void Service::ListQuarantine(const std::string& dataset,
                             rpc::Callback<v1::ListQuarantineResponse> done) {
  Ask<v1::ListQuarantineResponse>(std::move(done), [this, dataset](feed::Engine&, base::TimePoint) {
    return ReportQuarantine(catalog_.List(), dataset);
  });
}

void Service::ClearQuarantine(const std::string& dataset,
                              rpc::Callback<v1::ClearQuarantineResponse> done) {
  Ask<v1::ClearQuarantineResponse>(std::move(done),
                                   [this, dataset](feed::Engine& engine, base::TimePoint) {
                                     return app::ClearQuarantine(catalog_.List(), dataset, engine);
                                   });
}

void Service::OnArrived(const doorway::Peer& peer) { peers_.Add(peer); }

void Service::OnDisconnected(doorway::PeerId peer) {
  peers_.Remove(peer);
  runner_.Deliver(
      [peer](feed::Engine& engine, base::TimePoint) { engine.PeerDisconnected(peer.value()); });
}

void Service::OnGone(doorway::PeerId peer) {
  runner_.Deliver(
      [peer](feed::Engine& engine, base::TimePoint now) { engine.PeerGone(peer.value(), now); });
}

}  // namespace penstock::app
