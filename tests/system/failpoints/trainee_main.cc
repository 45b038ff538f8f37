// penstock-test-trainee ADDRESS DATASET HOW GATE: trains for two epochs, whatever becomes of its
// daemon, and prints each row: epoch, position, hash of its pixels, label, sample. HOW is state,
// order or visit (trainee.h). After four batches it waits until the file GATE is there.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client/include/penstock/penstock.h"
#include "tests/support/programs/trainer.h"
#include "tests/system/failpoints/take_batch.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kEpochs = 2;
constexpr uint64_t kSamples = 60;
constexpr uint64_t kBatchesBeforeGate = 4;
constexpr unsigned kMostSeconds = 120;

// One write a batch, so that whoever reads it sees whole lines.
void Print(const Delivered& batch) {
  std::ostringstream text;
  for (const auto& [place, row] : batch.rows)
    text << place.first << ' ' << place.second << ' ' << row.pixels << ' ' << row.label << ' '
         << row.sample << '\n';
  text << "batch\n";
  const std::string lines = text.str();
  if (write(STDOUT_FILENO, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
    _exit(1);
}

class Training {
 public:
  Training(std::string address, const std::string& dataset, bool resumes_by_state, std::string gate)
      : address_(std::move(address)), gate_(std::move(gate)), resumes_by_state_(resumes_by_state) {
    options_ = ForTakeBatch(SmallRows(dataset, resumes_by_state ? 8 : 5));
    options_.epochs = kEpochs;
    if (resumes_by_state) return;
    std::vector<uint64_t> order(kSamples);
    std::iota(order.rbegin(), order.rend(), 0);
    options_.order = Order::kGiven;
    options_.given = std::make_shared<const std::vector<uint64_t>>(std::move(order));
  }

  void Run() {
    while (!done_) {
      auto client = Client::Connect({.address = address_});
      auto session = client.ok() ? client->Open(options_) : Result<Session>(client.status());
      if (session.ok()) {
        TakeFrom(*session);
      } else {
        SayOnce(session.status());
        std::this_thread::sleep_for(milliseconds(50));
      }
    }
  }

 private:
  void TakeFrom(Session& session) {
    while (!done_) {
      Delivered batch;
      const Status status = TakeBatch(session, batch, milliseconds(5));
      if (batch.batches > 0) Print(batch);
      if (batch.batches > 0 && ++batches_ == kBatchesBeforeGate) WaitAtGate();
      if (status.ok() || status.code() == Code::kEndOfEpoch) Remember(session.state());
      if (status.code() == Code::kEndOfData) done_ = true;
      if (status.code() != Code::kUnavailable) continue;
      std::this_thread::sleep_for(milliseconds(50));
      if (resumes_by_state_) return;
    }
  }

  // For whoever wonders why it never ends. That a killed daemon is gone is no news.
  void SayOnce(const Status& status) {
    if (status.code() != Code::kUnavailable && said_.insert(status.message()).second)
      std::fprintf(stderr, "trainee: %s\n", status.ToString().c_str());
  }

  void WaitAtGate() const {
    while (access(gate_.c_str(), F_OK) != 0) std::this_thread::sleep_for(milliseconds(5));
  }

  // Its epochs count from where it resumes.
  void Remember(const State& state) {
    if (!resumes_by_state_) return;
    options_.state = state;
    options_.epochs = kEpochs - std::min(state.epoch, kEpochs);
    if (options_.epochs == 0) done_ = true;
  }

  const std::string address_, gate_;
  const bool resumes_by_state_;
  SessionOptions options_;
  uint64_t batches_ = 0;
  std::set<std::string> said_;
  bool done_ = false;
};

// Takes a batch of a new session, so that a segment is sent, and closes the session. Without room,
// it tries again, because the daemon may not have emptied the slots of the session before.
void TakeOneBatch(Client& client, const SessionOptions& options) {
  for (;;) {
    Result<Session> session = client.Open(options);
    Delivered batch;
    if (session.ok()) (void)TakeBatch(*session, batch, milliseconds(0));
    if (session.ok() || session.status().code() != Code::kResourceExhausted) return;
    std::this_thread::sleep_for(milliseconds(5));
  }
}

// Each session has slots of a size of its own, and takes the room that is left. So the segments of
// the first one must be freed for the last one.
void Visit(const std::string& address, const std::string& dataset) {
  auto client = Client::Connect({.address = address});
  if (!client.ok()) return;
  for (const uint32_t batch_size : {60, 59, 58})
    TakeOneBatch(*client, ForTakeBatch(SmallRows(dataset, batch_size)));
}

}  // namespace
}  // namespace penstock::testing

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  alarm(penstock::testing::kMostSeconds);
  if (std::strcmp(argv[3], "visit") == 0)
    penstock::testing::Visit(argv[1], argv[2]);
  else
    penstock::testing::Training(argv[1], argv[2], std::strcmp(argv[3], "state") == 0, argv[4])
        .Run();
  _exit(0);
}
