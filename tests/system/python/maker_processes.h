// A trainer of a Python dataset and the processes that it forks: hosts, and their Python workers,
// which write what they were asked for into the slot.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/maker.h"
#include "penstock/penstock.h"

namespace penstock::testing {

// What workers do, and what they did. In memory that the test shares with all processes that it
// forks.
struct Script {
  static constexpr uint64_t kSamples = 64;
  static constexpr uint64_t kNever = UINT64_MAX;

  std::atomic<uint64_t> kill_at = kNever;       // a sample whose worker kills itself, once
  std::atomic<uint64_t> kill_always = kNever;   // … each time
  std::atomic<uint64_t> raise_at = kNever;      // a sample that raises an exception
  std::atomic<uint64_t> extra_bytes = 0;        // of each batch; without room for them it raises
  std::atomic<uint64_t> extra_bytes_by_id = 0;  // … times its first sample
  std::atomic<uint32_t> sample_ms = 0;          // how long each sample takes
  std::array<std::atomic<uint32_t>, kSamples> made = {};  // how often each was made

  static Script& Shared();  // a new one
};

// What a worker writes behind the slot's header.
struct MadeContent {
  uint64_t raised = 0, epoch = 0, seed = 0, key_first = 0, key_step = 0;
  uint64_t place = 0, start = 0, pid = 0, host_pid = 0;
  std::vector<uint64_t> ids = {};
  uint64_t bytes = 0;  // of the whole batch
};

MadeContent Read(const Batch& batch);

// Its destructor ends the hosts and waits until they are gone.
class PythonTrainer {
 public:
  PythonTrainer(const std::string& address, Script& script);
  ~PythonTrainer();

  SessionOptions Options(uint32_t batch_size = 4, uint32_t workers = 2) const;
  Session Open(const SessionOptions& options);
  Result<Session> TryOpen(const SessionOptions& options);
  // The next session has a connection of its own.
  void ForgetConnection() { client_.reset(); }
  // The next batch. Forks hosts when it is asked to.
  Result<Batch> Next(Session& session,
                     std::chrono::milliseconds timeout = std::chrono::seconds(30));
  // All batches until the end of the data.
  std::vector<MadeContent> Drain(Session& session);

  size_t hosts() const { return hosts_.size(); }    // forked so far
  pid_t host() const { return hosts_.back().pid; }  // the last one
  void EndHosts();                                  // through their life sockets

  static std::string Dataset() {
    return "python:id=7e57,samples=" + std::to_string(Script::kSamples);
  }

 private:
  struct ForkedHost {
    pid_t pid = -1;
    int life = -1;  // our end
  };
  void ForkHost(const std::string& token);

  const std::string address_;
  Script& script_;
  std::optional<Client> client_;  // once a session was opened
  std::vector<ForkedHost> hosts_;
};

}  // namespace penstock::testing
