// penstock-test-python-trainee ADDRESS DATASET HOW GATE: trains with a Python dataset for two
// epochs, whatever becomes of its daemon, and forks hosts for it. Prints each row as
// penstock-test-trainee does, its pixels being a hash of what the worker wrote, and "error TEXT"
// for each error but that the daemon is gone. After 14 batches one of its hosts is killed, and so
// is its worker that first makes a certain sample. HOW:
//
//   state    resumes by its state in a new client
//   order    its session resumes by itself, or, if that fails, by its state; shares the batches of
//            the first
//   streams  reads two streams, from the beginning of the epoch if its session ends; prints an
//            epoch's rows when it has all
//
// It waits for no gate.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "tests/system/python/maker_processes.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kEpochs = 2;
// More than a batch is granted at first, and then more than the largest before it.
constexpr uint64_t kExtraBytes = 100'000, kExtraBytesById = 20'000;
constexpr uint64_t kBatchesOfFirstHost = 14;
constexpr unsigned kMostSeconds = 60;

// One write, so that whoever reads it sees whole lines.
void Print(const std::string& lines) {
  if (write(STDOUT_FILENO, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
    _exit(1);
}

std::string LinesOf(const Batch& batch, const MadeContent& made) {
  std::ostringstream lines;
  for (size_t row = 0; row < made.ids.size(); ++row) {
    uint64_t hash = made.bytes;
    for (const uint64_t number : {made.epoch, made.seed, made.key_first, made.key_step})
      hash = hash * 1'000'003 + number;
    lines << batch.epoch() << ' ' << batch.first() + row << ' ' << hash << ' ' << made.raised << ' '
          << made.ids[row] << '\n';
  }
  lines << "batch\n";
  return lines.str();
}

class PythonTraining {
 public:
  PythonTraining(const std::string& address, const std::string& how)
      : by_state_(how == "state"), in_streams_(how == "streams"), trainer_(address, script_) {
    script_.extra_bytes = kExtraBytes;
    script_.extra_bytes_by_id = kExtraBytesById;
    script_.sample_ms = 1;
    script_.kill_at = in_streams_ ? 9 : by_state_ ? 21 : 25;
    options_ = trainer_.Options(in_streams_ ? 1 : 4);
    options_.epochs = kEpochs;
    if (in_streams_) options_.python->streams = 2;
    if (in_streams_) options_.seed = 8;
  }

  void Run() {
    while (!done_) {
      if (by_state_) trainer_.ForgetConnection();
      Result<Session> session = trainer_.TryOpen(options_);
      if (session.ok()) {
        TakeFrom(*session);
      } else {
        Say(session.status());
      }
      if (done_) break;
      trainer_.ForgetConnection();
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

 private:
  void TakeFrom(Session& session) {
    kept_.clear();
    while (!done_) {
      const Result<Batch> batch = trainer_.Next(session);
      const Code code = batch.status().code();
      if (batch.ok() && !Take(*batch)) return;
      if (batch.ok() || code == Code::kEndOfEpoch) Remember(session.state());
      if (code == Code::kEndOfData) done_ = true;
      if (batch.ok() || code == Code::kEndOfEpoch || done_) continue;
      Say(batch.status());
      if (code != Code::kUnavailable || by_state_ || in_streams_) return;
    }
  }

  // Returns whether it is no exception; then the trainer resumes where it was before.
  bool Take(const Batch& batch) {
    const MadeContent made = Read(batch);  // checks all bytes
    if (made.raised) Print("error no room for a batch\n");
    if (made.raised) return false;
    const std::string lines = LinesOf(batch, made);
    in_streams_ ? void(kept_ += lines) : Print(lines);
    if (++batches_ >= kBatchesOfFirstHost && trainer_.hosts() > 0 && !std::exchange(killed_, true))
      kill(trainer_.host(), SIGKILL);
    return true;
  }

  void PrintKept() {
    if (!kept_.empty()) Print(kept_);
    kept_.clear();
  }

  // Its epochs count from where it resumes. Within an epoch of streams it cannot.
  void Remember(const State& state) {
    if (in_streams_ && state.consumed != 0) return;
    PrintKept();
    options_.state = state;
    options_.epochs = kEpochs - std::min(state.epoch, kEpochs);
    if (options_.epochs == 0) done_ = true;
  }

  // That a killed daemon is gone is no news.
  static void Say(const Status& status) {
    const bool is_gone =
        (status.code() == Code::kUnavailable || status.code() == Code::kNotFound) &&
        status.message().find("failpoint") == std::string::npos;
    if (!is_gone) Print("error " + status.ToString() + "\n");
  }

  Script& script_ = Script::Shared();
  const bool by_state_, in_streams_;
  PythonTrainer trainer_;
  SessionOptions options_;
  std::string kept_;  // of streams, until the epoch is over
  uint64_t batches_ = 0;
  bool killed_ = false;  // a host
  bool done_ = false;
};

}  // namespace
}  // namespace penstock::testing

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  alarm(penstock::testing::kMostSeconds);
  { penstock::testing::PythonTraining(argv[1], argv[3]).Run(); }
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}
