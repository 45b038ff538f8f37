// A controller that writes down what it was asked and gives canned answers. Any thread.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

class FakeController final : public Controller {
 public:
  void OpenSession(SessionRequest request, Callback<SessionGrant> done) override {
    {
      base::MutexLock lock(mutex_);
      opened_.push_back(request);
    }
    if (request.dataset == "slow") return Hold([done] { done(SessionGrant()); });
    if (request.dataset == "unknown") {
      return done(absl::NotFoundError("no dataset 'unknown'; known: flowers"));
    }
    done(SessionGrant{.session_id = 42,
                      .fingerprint = 0xfeed,
                      .row_bytes = 3u * request.spec.height * request.spec.width,
                      .samples = 1000,
                      .window = request.window,
                      .segments = {3, 5}});
  }
  void ListSlabs(const Ticket&, uint64_t session_id, Callback<std::vector<Slab>> done) override {
    if (session_id != 42) return done(absl::NotFoundError("no such session"));
    done(std::vector<Slab>{{.id = 5,
                            .bytes = 2u << 20,
                            .kind = HandleKind::kIpc,
                            .handle = std::string(64, 'h'),
                            .canary_offset = 4096,
                            .canary = "tweet"}});
  }
  void CloseSession(const Ticket&, uint64_t session_id, Callback<bool> done) override {
    if (session_id == 42) return done(true);
    done(absl::NotFoundError("no such session"));
  }
  void DescribeDataset(const Ticket&, const std::string& dataset,
                       Callback<DatasetDescription> done) override {
    done(DatasetDescription{
        .name = dataset, .samples = 2, .digest = 9, .classes = {"daisy", "rose"}});
  }
  void IndexDataset(const std::string& dataset, std::function<bool()> cancelled,
                    Callback<IndexProgress> progress) override {
    if (dataset == "endless") return Hold([cancelled] { (void)cancelled(); });
    if (dataset == "broken") return progress(absl::DataLossError("/data/broken: unreadable"));
    for (uint64_t files = 0; files < 100; ++files) progress(IndexProgress{.files_seen = files});
    progress(IndexProgress{.files_seen = 100, .done = true, .samples = 99, .classes = 2});
  }
  void GetStatus(Callback<v1::GetStatusResponse> done) override {
    v1::GetStatusResponse status;
    status.set_pid(4711);
    done(status);
  }
  void ListSessions(Callback<v1::ListSessionsResponse> done) override {
    done(v1::ListSessionsResponse());
  }
  void ListWorkers(Callback<v1::ListWorkersResponse> done) override {
    done(v1::ListWorkersResponse());
  }
  void ListDatasets(Callback<v1::ListDatasetsResponse> done) override {
    done(v1::ListDatasetsResponse());
  }
  void ListQuarantine(const std::string& dataset,
                      Callback<v1::ListQuarantineResponse> done) override {
    v1::ListQuarantineResponse list;
    list.add_entries()->set_dataset(dataset);
    done(list);
  }
  void ClearQuarantine(const std::string&, Callback<v1::ClearQuarantineResponse> done) override {
    v1::ClearQuarantineResponse cleared;
    cleared.set_cleared(3);
    done(cleared);
  }

  std::vector<SessionRequest> opened() const {
    base::MutexLock lock(mutex_);
    return opened_;
  }
  size_t held() const {
    base::MutexLock lock(mutex_);
    return held_.size();
  }
  // Answers at last what was held back.
  void LetGo() {
    std::deque<std::function<void()>> held;
    {
      base::MutexLock lock(mutex_);
      held.swap(held_);
    }
    for (const auto& answer : held) answer();
  }

 private:
  void Hold(std::function<void()> answer) {
    base::MutexLock lock(mutex_);
    held_.push_back(std::move(answer));
  }

  mutable base::Mutex mutex_;
  std::vector<SessionRequest> opened_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> held_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::rpc
