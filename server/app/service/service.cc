#include "server/app/service/service.h"

#include <chrono>
#include <optional>
#include <utility>

#include "common/telemetry/log.h"
#include "server/app/catalog/openers.h"
#include "server/app/operator/status_reports.h"
#include "server/app/service/sessions.h"
#include "server/feed/stats/trace_text.h"
#include "server/rpc/access/refusal.h"

namespace penstock::app {
namespace {

// The same message whether the session doesn't exist or belongs to another process, because numbers
// can be guessed and existence must not be revealed. The log has the real reason.
absl::Status ForWhoAsks(const absl::Status& status, uint64_t session) {
  const absl::Status unknown =
      absl::NotFoundError(absl::StrCat("session ", session, " is not open in this process"));
  if (absl::IsPermissionDenied(status))
    return rpc::Refused(unknown, rpc::Refusal::kNotOwner, status.message());
  return absl::IsNotFound(status) ? unknown : status;
}

absl::Status Overloaded() {
  return absl::UnavailableError("the daemon is ending or overloaded; try again");
}

// Formatted on the sending thread, to spare the runner.
class WrittenTrace final : public rpc::TraceSource {
 public:
  explicit WrittenTrace(feed::Trace trace) : trace_(std::move(trace)), dropped_(trace_.dropped) {}
  std::string Next(size_t most) override {
    if (!text_) text_.emplace(std::move(trace_));
    return text_->Next(most);
  }
  uint64_t dropped() const override { return dropped_; }

 private:
  feed::Trace trace_;
  const uint64_t dropped_;
  std::optional<feed::TraceText> text_;
};

}  // namespace

Service::Service(Options options, Catalog& catalog, feed::Runner& runner)
    : options_(std::move(options)),
      catalog_(catalog),
      runner_(runner),
      makers_(options_.private_daemon, runner),
      orders_(options_.orders),
      digests_({.threads = options_.digest_threads}) {}

template <typename T>
void Service::Ask(rpc::Callback<T> done,
                  std::function<absl::StatusOr<T>(feed::Engine&, base::TimePoint)> job) {
  const bool posted =
      runner_.Post([this, done, job = std::move(job)](feed::Engine& engine, base::TimePoint now) {
        reply_executor_.Do([done, answer = job(engine, now)] { done(answer); });
      });
  if (!posted) done(Overloaded());
}

absl::StatusOr<std::unique_ptr<rpc::IncomingOrder>> Service::ReceiveOrder(const rpc::Permit& permit,
                                                                          uint64_t length) {
  PENSTOCK_ASSIGN_OR_RETURN(const doorway::Peer peer, peers_.Find(permit.ticket()));
  return orders_.Receive({.user = peer.uid, .peer = peer.id.value()}, length);
}

// Holds the order from here on, because indexing may take a while.
void Service::OpenSession(const rpc::Permit& permit, session::Request request,
                          rpc::Cancelled cancelled, rpc::Callback<session::Grant> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(permit.ticket());
  if (!peer.ok()) return done(peer.status());
  feed::OpenRequest open = {std::move(request)};
  open.peer = peer->id.value();
  open.user = peer->uid;
  open.pid = peer->pid;
  open.client = peer->client;
  if (open.given_order) {
    absl::StatusOr<std::shared_ptr<const plan::GivenOrder>> found =
        orders_.Find(peer->uid, *open.given_order);
    if (!found.ok()) return done(found.status());
    open.given = *std::move(found);
  }
  const std::string dataset = open.dataset_name;
  const auto opened = [this, permit, open = std::move(open), cancelled,
                       done = std::move(done)](absl::StatusOr<Catalog::State> state) {
    if (!state.ok()) return done(state.status());
    if (cancelled()) return done(absl::CancelledError("the call was cancelled"));
    const auto part = catalog_.RangeOf(open.dataset_name, **state);
    if (!part.ok()) return done(part.status());
    feed::OpenRequest with_dataset = open;
    with_dataset.part = *part;
    with_dataset.dataset = *std::move(state);
    OpenOn(std::move(with_dataset), permit, done);
  };
  catalog_.OpenForSession(dataset, ToOpener(*peer), opened, cancelled);
}

// The peer may have left while the catalogue was busy. A peer that is present when the engine is
// asked will be reported as leaving later, so nothing is kept for one that is gone.
void Service::OpenOn(feed::OpenRequest open, const rpc::Permit& permit,
                     const rpc::Callback<session::Grant>& done) {
  const bool posted = runner_.Post(
      [this, open = std::move(open), permit, done](feed::Engine& engine, base::TimePoint now) {
        if (const absl::Status here = peers_.Find(permit.ticket()).status(); !here.ok())
          return done(here);
        engine.Open(open, now, [open, done](const absl::StatusOr<session::Grant>& grant) {
          if (!grant.ok()) return done(grant.status());
          LogOpened(*grant, open);
          done(*grant);
        });
      });
  if (!posted) done(Overloaded());
}

void Service::ListSlabs(const rpc::Permit& permit, uint64_t session_id,
                        rpc::Callback<std::vector<exporting::SlabFacts>> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(permit.ticket());
  if (!peer.ok()) return done(peer.status());
  Ask<std::vector<exporting::SlabFacts>>(
      std::move(done),
      [id = peer->id.value(), session_id](feed::Engine& engine, base::TimePoint)
          -> absl::StatusOr<std::vector<exporting::SlabFacts>> {
        const auto slabs = engine.Slabs(id, session_id);
        if (!slabs.ok()) return ForWhoAsks(slabs.status(), session_id);
        return *slabs;
      });
}

void Service::CloseSession(const rpc::Permit& permit, uint64_t session_id,
                           rpc::Callback<bool> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(permit.ticket());
  if (!peer.ok()) return done(peer.status());
  Ask<bool>(std::move(done),
            [id = peer->id.value(), session_id](feed::Engine& engine,
                                                base::TimePoint now) -> absl::StatusOr<bool> {
              PENSTOCK_RETURN_IF_ERROR(ForWhoAsks(engine.Close(id, session_id, now), session_id));
              PENSTOCK_LOG(kInfo, "session_closed", {"session", session_id});
              return true;
            });
}

void Service::GetProgress(const rpc::Permit& permit, uint64_t session_id,
                          rpc::Callback<rpc::Progress> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(permit.ticket());
  if (!peer.ok()) return done(peer.status());
  Ask<rpc::Progress>(
      std::move(done),
      [id = peer->id.value(), session_id](feed::Engine& engine,
                                          base::TimePoint now) -> absl::StatusOr<rpc::Progress> {
        const auto progress = engine.views().Progress(id, session_id, now);
        if (!progress.ok()) return ForWhoAsks(progress.status(), session_id);
        return ReportProgress(*progress);
      });
}

void Service::ReportUndecodable(const rpc::Permit& permit, uint64_t session_id,
                                std::vector<uint64_t> samples, rpc::Callback<bool> done) {
  absl::StatusOr<doorway::Peer> peer = peers_.Find(permit.ticket());
  if (!peer.ok()) return done(peer.status());
  Ask<bool>(std::move(done),
            [id = peer->id.value(), session_id, samples = std::move(samples)](
                feed::Engine& engine, base::TimePoint) -> absl::StatusOr<bool> {
              PENSTOCK_RETURN_IF_ERROR(
                  ForWhoAsks(engine.ReportUndecodable(id, session_id, samples), session_id));
              return true;
            });
}

v1::GetStatusResponse Service::StatusOf(feed::Engine& engine, const Opener& viewer,
                                        base::TimePoint now) const {
  v1::GetStatusResponse response = ReportStatus(engine, viewer, now);
  if (const std::string why = options_.not_ready(); response.serving() && !why.empty()) {
    response.set_serving(false);
    response.set_reason(viewer.is_operator ? why : "it is not ready; its operator sees why");
  }
  response.set_forbidden_calls(response.forbidden_calls() + options_.indexers_forbidden_calls());
  if (auto stores = options_.stores(); stores && viewer.is_operator)
    *response.mutable_stores() = *std::move(stores);
  response.set_private_daemon(options_.private_daemon);
  response.set_sandbox(options_.sandbox);
  response.set_connections_cut_off(options_.cut_off());
  if (viewer.is_operator) response.set_state_directory(catalog_.state_trouble());
  response.add_deliveries("host");
  if (options_.delivers_to_gpus()) response.add_deliveries("device");
  response.set_uptime_ms(static_cast<uint64_t>((now - started_).count() / 1'000'000));
  for (const DatasetView& view : catalog_.List(viewer))
    if (view.state != nullptr) response.set_quarantined(response.quarantined() + BadSamples(view));
  return response;
}

void Service::TakeTrace(const rpc::Permit& permit, base::Duration length,
                        std::function<bool()> cancelled,
                        rpc::Callback<std::unique_ptr<rpc::TraceSource>> done) {
  feed::TraceRequest trace = {.length = length, .cancelled = std::move(cancelled)};
  if (!permit.is_operator()) trace.user = permit.caller().uid;
  const bool posted = runner_.Post([trace, done](feed::Engine& engine, base::TimePoint now) {
    engine.TakeTrace(trace, now, [done](absl::StatusOr<feed::Trace> trace) {
      if (!trace.ok()) return done(trace.status());
      done(std::make_unique<WrittenTrace>(*std::move(trace)));
    });
  });
  if (!posted) done(Overloaded());
}

void Service::GetStatus(const rpc::Permit& permit, rpc::Callback<v1::GetStatusResponse> done) {
  Ask<v1::GetStatusResponse>(std::move(done), [this, viewer = ToOpener(permit)](
                                                  feed::Engine& engine, base::TimePoint now) {
    return StatusOf(engine, viewer, now);
  });
}

void Service::ListSessions(const rpc::Permit& permit,
                           rpc::Callback<v1::ListSessionsResponse> done) {
  Ask<v1::ListSessionsResponse>(std::move(done),
                                [viewer = ToOpener(permit)](feed::Engine& engine, base::TimePoint) {
                                  return ReportSessions(engine, viewer);
                                });
}

void Service::ListWorkers(const rpc::Permit& permit, rpc::Callback<v1::ListWorkersResponse> done) {
  const auto with_memory = [done = std::move(done)](absl::StatusOr<v1::ListWorkersResponse> all) {
    if (all.ok()) AddMemory(*all);
    done(std::move(all));
  };
  Ask<v1::ListWorkersResponse>(
      with_memory, [viewer = ToOpener(permit)](feed::Engine& engine, base::TimePoint now) {
        return ReportWorkers(engine, viewer, now);
      });
}

// Quarantines belong to the runner's thread, so lists that include them are made there.
void Service::ListDatasets(const rpc::Permit& permit,
                           rpc::Callback<v1::ListDatasetsResponse> done) {
  Ask<v1::ListDatasetsResponse>(std::move(done),
                                [this, opener = ToOpener(permit)](feed::Engine&, base::TimePoint) {
                                  return ReportDatasets(catalog_.List(opener));
                                });
}

void Service::LookAtDatasets(const rpc::Permit& permit,
                             rpc::Callback<v1::ListDatasetsResponse> done) {
  ListDatasets(permit, [this, user = permit.caller().uid,
                        done = std::move(done)](absl::StatusOr<v1::ListDatasetsResponse> all) {
    if (!all.ok()) return done(std::move(all));
    looks_.Ask(*std::move(all), user, done);
  });
}

void Service::ListQuarantine(const rpc::Permit& permit, const rpc::QuarantineQuery& query,
                             rpc::Callback<v1::ListQuarantineResponse> done) {
  Ask<v1::ListQuarantineResponse>(
      std::move(done), [this, opener = ToOpener(permit), query](feed::Engine&, base::TimePoint) {
        absl::StatusOr<v1::ListQuarantineResponse> page =
            ReportQuarantine(catalog_.List(opener), query);
        if (absl::IsNotFound(page.status()) && catalog_.IsKeptFrom(query.dataset, opener))
          page = rpc::Refused(page.status(), rpc::Refusal::kNotInGroup);
        return page;
      });
}

void Service::ClearQuarantine(const rpc::Permit& permit, const std::string& dataset,
                              rpc::Callback<v1::ClearQuarantineResponse> done) {
  Ask<v1::ClearQuarantineResponse>(std::move(done), [this, opener = ToOpener(permit), dataset](
                                                        feed::Engine& engine, base::TimePoint) {
    return app::ClearQuarantine(catalog_.List(opener), dataset, engine);
  });
}

void Service::LookAround(const rpc::Permit& permit, rpc::Callback<v1::WatchStatusResponse> done) {
  Ask<v1::WatchStatusResponse>(std::move(done), [this, viewer = ToOpener(permit)](
                                                    feed::Engine& engine, base::TimePoint now) {
    return Look(engine, viewer, now);
  });
}

void Service::SetWorkers(const rpc::Permit& permit, uint32_t count,
                         rpc::Callback<v1::SetWorkersResponse> done) {
  Ask<v1::SetWorkersResponse>(
      std::move(done),
      [count, asked_by = ToAskedBy(permit)](
          feed::Engine& engine, base::TimePoint) -> absl::StatusOr<v1::SetWorkersResponse> {
        PENSTOCK_ASSIGN_OR_RETURN(const uint32_t before, engine.SetWorkers(count));
        PENSTOCK_LOG(kInfo, "workers_set", {"user", asked_by.user}, {"pid", asked_by.pid},
                     {"before", before}, {"now", count});
        v1::SetWorkersResponse response;
        response.set_before(before);
        return response;
      });
}

void Service::SetDraining(const rpc::Permit& permit, bool draining,
                          rpc::Callback<v1::DrainResponse> done) {
  SetDraining(draining, ToAskedBy(permit), std::move(done));
}

void Service::Drain(const session::AskedBy& asked_by) {
  SetDraining(true, asked_by, [](const absl::StatusOr<v1::DrainResponse>&) {});
}

void Service::SetDraining(bool draining, const session::AskedBy& asked_by,
                          rpc::Callback<v1::DrainResponse> done) {
  options_.draining(draining);
  Ask<v1::DrainResponse>(std::move(done),
                         [draining, asked_by](feed::Engine& engine, base::TimePoint) {
                           engine.SetDraining(draining, asked_by);
                           v1::DrainResponse response;
                           if (draining) return ReportDrain(engine);
                           response.set_done(true);
                           return response;
                         });
}

void Service::GetDraining(const rpc::Permit&, rpc::Callback<v1::DrainResponse> done) {
  Ask<v1::DrainResponse>(
      std::move(done),
      [](feed::Engine& engine, base::TimePoint) -> absl::StatusOr<v1::DrainResponse> {
        if (!engine.draining())
          return absl::AbortedError("the drain was cancelled; the daemon serves again");
        return ReportDrain(engine);
      });
}

void Service::Reload(const rpc::Permit& permit, const rpc::MeantFile& file,
                     rpc::Callback<v1::ReloadResponse> done) {
  if (options_.reload == nullptr)
    return done(absl::FailedPreconditionError(
        "a private daemon has no configuration; restart it with other options"));
  options_.reload(file, ToAskedBy(permit), std::move(done));
}

absl::Status Service::MayEnter(const doorway::Peer& peer) { return makers_.MayEnter(peer); }

// Others than clients have no ticket, so they must not be found by theirs.
void Service::OnArrived(const doorway::Peer& peer) {
  if (peer.role != doorway::Role::kClient) return makers_.OnArrived(peer);
  peers_.Add(peer);
}

// Of clients and makers alike. A maker that was disconnected holds nothing of ours that counts: the
// engine ends its process.
void Service::OnDisconnected(doorway::PeerId peer) {
  peers_.Remove(peer);
  orders_.PeerLeft(peer.value());
  runner_.Deliver([this, peer](feed::Engine& engine, base::TimePoint) {
    engine.PeerDisconnected(peer.value());
    if (!engine.Holds(peer.value())) return options_.forget(peer.value());
    holders_.insert(peer.value());
    someone_holds_ = true;
  });
}

void Service::OnGone(doorway::PeerId peer) {
  runner_.Deliver([this, peer](feed::Engine& engine, base::TimePoint now) {
    engine.PeerGone(peer.value(), now);
    holders_.erase(peer.value());
  });
}

void Service::ForgetThoseWhoHoldNothing() {
  if (!someone_holds_) return;
  runner_.Post([this](feed::Engine& engine, base::TimePoint) {
    std::erase_if(holders_, [&](uint64_t peer) {
      if (engine.Holds(peer)) return false;
      options_.forget(peer);
      return true;
    });
    someone_holds_ = !holders_.empty();
  });
}

}  // namespace penstock::app
