// A controller that records its calls and gives canned answers.
//
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "server/rpc/access/access.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

class FakeController final : public Controller {
 public:
  // Set before the first call.
  bool serving = false;
  bool keep_look = false;  // until this is destroyed, as the daemon may keep a request for a moment

  struct OpenedSession {
    Ticket ticket;  // the caller's
    session::Request request;
  };
  absl::StatusOr<std::unique_ptr<IncomingOrder>> ReceiveOrder(const Permit&,
                                                              uint64_t length) override {
    if (length > 1'000'000) return absl::ResourceExhaustedError("at most 1000000 samples");
    return std::make_unique<FakeOrder>(*this);
  }
  void DescribeSamples(const Permit&, const std::string&, std::vector<uint64_t> ids, Cancelled,
                       Callback<std::vector<SampleDescription>> done) override {
    std::vector<SampleDescription> samples;
    for (const uint64_t id : ids) {
      SampleDescription sample{absl::StrCat("/flowers/", id), static_cast<int64_t>(id % 2)};
      if (id == 4) sample.image = {sample.path, 0, 44};
      if (id == 9) sample.image = {"/flowers/\xff.tar", 512, 99};
      samples.push_back(std::move(sample));
    }
    done(samples);
  }
  void GetProgress(const Permit&, uint64_t session_id, Callback<Progress> done) override {
    if (session_id != 42) return done(absl::NotFoundError("no such session"));
    done(Progress{.announced = 3, .decoding = 2, .stalled_reason = "/flowers/7: gone"});
  }
  void ReportUndecodable(const Permit&, uint64_t session_id, std::vector<uint64_t> samples,
                         Callback<bool> done) override {
    if (session_id != 42) return done(absl::NotFoundError("no such session"));
    {
      base::MutexLock lock(mutex_);
      undecodable_ = std::move(samples);
    }
    done(true);
  }
  void OpenSession(const Permit& permit, session::Request request, Cancelled,
                   Callback<session::Grant> done) override {
    {
      base::MutexLock lock(mutex_);
      opened_.push_back({permit.ticket(), request});
    }
    if (request.dataset_name == "slow") return Hold([done] { done(session::Grant()); });
    if (request.dataset_name == "unknown") {
      return done(absl::NotFoundError("no dataset 'unknown'; known: flowers"));
    }
    const decode::Spec& decoding = request.feed.decoding;
    done(session::Grant{.session = 42,
                        .fingerprint = 0xfeed,
                        .samples = 1000,
                        .row = source::ImageLayout(decoding.height, decoding.width, 3),
                        .layout = {.blocks = {{.row_bytes = 3u * decoding.height * decoding.width}},
                                   .labels_offset = 4096,
                                   .ids_offset = 8192,
                                   .slot_bytes = 12288},
                        .window = request.window});
  }
  void LookAround(const Permit&, Callback<v1::WatchStatusResponse> done) override {
    v1::WatchStatusResponse all;
    all.set_time_unix_ms(++looks_);
    if (keep_look) kept_look_ = done;
    done(all);
  }
  void SetWorkers(const Permit&, uint32_t count, Callback<v1::SetWorkersResponse> done) override {
    if (count == 0) return done(absl::InvalidArgumentError("0 workers"));
    v1::SetWorkersResponse response;
    response.set_before(count - 1);
    done(response);
  }
  // Three sessions, which end one after another.
  void SetDraining(const Permit& permit, bool draining, Callback<v1::DrainResponse> done) override {
    left_ = draining ? 3 : 0;
    GetDraining(permit, std::move(done));
  }
  void GetDraining(const Permit&, Callback<v1::DrainResponse> done) override {
    v1::DrainResponse response;
    response.set_sessions_left(left_);
    response.set_done(left_ == 0);
    if (left_ > 0) --left_;
    done(response);
  }
  void Reload(const Permit&, const MeantFile&, Callback<v1::ReloadResponse> done) override {
    v1::ReloadResponse response;
    response.add_changed("log.level: info, now debug");
    done(response);
  }
  void ListSlabs(const Permit&, uint64_t session_id,
                 Callback<std::vector<exporting::SlabFacts>> done) override {
    if (session_id != 42) return done(absl::NotFoundError("no such session"));
    exporting::SlabFacts slab = {.id = 5, .bytes = 2u << 20, .canary_offset = 4096};
    slab.ipc.fill(std::byte{'h'});
    slab.canary.fill(std::byte{'t'});
    done(std::vector<exporting::SlabFacts>{slab});
  }
  void CloseSession(const Permit&, uint64_t session_id, Callback<bool> done) override {
    if (session_id == 42) return done(true);
    if (session_id == 43)
      return done(Refused(absl::NotFoundError("no such session"), Refusal::kNotOwner));
    done(absl::NotFoundError("no such session"));
  }
  void DescribeDataset(const Permit&, const DescribeQuery& query,
                       Callback<DatasetDescription> done) override {
    done(DatasetDescription{.name = query.dataset,
                            .samples = 2,
                            .digest = 9,
                            .classes = {"daisy", "rose"},
                            .content_digest = query.content_digest ? "c0ffee" : ""});
  }
  void DigestDataset(const Permit&, const DescribeQuery& query,
                     Callback<DatasetDescription> done) override {
    if (query.dataset == "fish") return done(absl::NotFoundError("no such dataset"));
    done(DatasetDescription{
        .name = query.dataset, .samples = 2, .classes = {}, .content_digest = "0123abcd"});
  }
  void IndexDataset(const Permit&, const IndexRequest& request, std::function<bool()> cancelled,
                    Callback<IndexProgress> progress) override {
    if (request.dataset == "endless") return Hold([cancelled] { (void)cancelled(); });
    if (request.dataset == "broken")
      return progress(absl::DataLossError("/data/broken: unreadable"));
    for (uint64_t files = 0; files < 100; ++files) progress(IndexProgress{.files_seen = files});
    progress(IndexProgress{.files_seen = 100, .done = true, .samples = 99, .classes = 2});
  }
  void TakeTrace(const Permit&, base::Duration length, std::function<bool()> cancelled,
                 Callback<std::unique_ptr<TraceSource>> done) override {
    if (length == std::chrono::seconds(60)) {
      {
        base::MutexLock lock(mutex_);
        trace_cancelled_ = cancelled;
      }
      return Hold([done] { done(std::make_unique<FakeTrace>()); });
    }
    if (length != std::chrono::seconds(5))
      return done(absl::ResourceExhaustedError("a trace is already being taken"));
    done(std::make_unique<FakeTrace>());
  }
  void GetStatus(const Permit&, Callback<v1::GetStatusResponse> done) override {
    v1::GetStatusResponse status;
    status.set_pid(4711);
    status.set_serving(serving);
    done(status);
  }
  void ListSessions(const Permit&, Callback<v1::ListSessionsResponse> done) override {
    done(v1::ListSessionsResponse());
  }
  void ListWorkers(const Permit&, Callback<v1::ListWorkersResponse> done) override {
    done(v1::ListWorkersResponse());
  }
  void LookAtDatasets(const Permit&, Callback<v1::ListDatasetsResponse> done) override {
    v1::ListDatasetsResponse looked;
    looked.add_datasets()->mutable_place()->set_path("/looked/at");
    done(looked);
  }
  void ListDatasets(const Permit&, Callback<v1::ListDatasetsResponse> done) override {
    done(v1::ListDatasetsResponse());
  }
  void ListQuarantine(const Permit&, const QuarantineQuery& query,
                      Callback<v1::ListQuarantineResponse> done) override {
    v1::ListQuarantineResponse list;
    list.add_entries()->set_dataset(query.dataset);
    list.set_total(query.page_size);
    done(list);
  }
  void ClearQuarantine(const Permit&, const std::string&,
                       Callback<v1::ClearQuarantineResponse> done) override {
    v1::ClearQuarantineResponse cleared;
    cleared.set_cleared(3);
    done(cleared);
  }

  // Whether the long trace was cancelled because nobody waits for it any more.
  bool trace_cancelled() const {
    base::MutexLock lock(mutex_);
    return trace_cancelled_ && trace_cancelled_();
  }
  // The samples of the last report.
  std::vector<uint64_t> undecodable() const {
    base::MutexLock lock(mutex_);
    return undecodable_;
  }
  // The samples of all orders received, complete or not, and the number of complete orders.
  std::vector<uint64_t> ordered() const {
    base::MutexLock lock(mutex_);
    return ordered_;
  }
  int orders() const {
    base::MutexLock lock(mutex_);
    return orders_;
  }
  int orders_dropped() const {
    base::MutexLock lock(mutex_);
    return orders_dropped_;
  }
  std::vector<OpenedSession> opened() const {
    base::MutexLock lock(mutex_);
    return opened_;
  }
  size_t held() const {
    base::MutexLock lock(mutex_);
    return held_.size();
  }
  // Sends the answers that were held back.
  void LetGo() {
    std::deque<std::function<void()>> held;
    {
      base::MutexLock lock(mutex_);
      held.swap(held_);
    }
    for (const auto& answer : held) answer();
  }

 private:
  std::atomic<int64_t> looks_ = 0;
  std::atomic<uint32_t> left_ = 0;
  // Three full pieces.
  class FakeTrace final : public TraceSource {
   public:
    std::string Next(size_t most) override {
      return left_-- > 0 ? std::string(most, static_cast<char>('1' + left_)) : "";
    }
    uint64_t dropped() const override { return 7; }

   private:
    int left_ = 3;
  };
  class FakeOrder final : public IncomingOrder {
   public:
    explicit FakeOrder(FakeController& controller) : controller_(controller) {}
    ~FakeOrder() override {
      base::MutexLock lock(controller_.mutex_);
      if (!finished_) ++controller_.orders_dropped_;
    }
    absl::Status Add(std::span<const uint64_t> samples) override {
      base::MutexLock lock(controller_.mutex_);
      controller_.ordered_.insert(controller_.ordered_.end(), samples.begin(), samples.end());
      return absl::OkStatus();
    }
    absl::StatusOr<uint64_t> Finish() override {
      base::MutexLock lock(controller_.mutex_);
      finished_ = true;
      ++controller_.orders_;
      return 0xabc;
    }

   private:
    FakeController& controller_;
    bool finished_ = false;
  };

  void Hold(std::function<void()> answer) {
    base::MutexLock lock(mutex_);
    held_.push_back(std::move(answer));
  }

  mutable base::Mutex mutex_;
  std::vector<OpenedSession> opened_ PENSTOCK_GUARDED_BY(mutex_);
  Callback<v1::WatchStatusResponse> kept_look_;
  std::deque<std::function<void()>> held_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<uint64_t> ordered_ PENSTOCK_GUARDED_BY(mutex_), undecodable_
      PENSTOCK_GUARDED_BY(mutex_);
  int orders_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::function<bool()> trace_cancelled_ PENSTOCK_GUARDED_BY(mutex_);
  int orders_dropped_ PENSTOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::rpc
