// A session for Python: the client's, with a wait that Ctrl-C ends and without the interpreter's
// lock while it waits or computes.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/python/src/device_memory.h"
#include "client/python/src/tensors.h"
#include "penstock/penstock.h"

namespace penstock::python {

// Seconds; nothing: for ever.
using Seconds = std::optional<double>;

struct Room {
  Address images = 0;
  uint64_t image_bytes = 0;
  Address labels = 0;  // int64, one a row
  std::vector<TensorRoom> tensors = {};
};

// Whose turn it is with a session, which serves one thread at a time: who takes batches, or who
// asks how it is. In the order in which they came, so that who takes batch after batch lets others
// in. Nobody who has the turn waits for the interpreter's lock; so nobody waits for it who holds
// that.
class Turns {
 public:
  using Turn = std::unique_lock<std::mutex>;
  Turn Wait() {
    const std::lock_guard line(line_);
    return Turn(session_);
  }
  // Empty where somebody has it, or waits for it.
  Turn Try() {
    const Turn line(line_, std::try_to_lock);
    return line ? Turn(session_, std::try_to_lock) : Turn();
  }

 private:
  std::mutex line_, session_;
};

// Any thread; one at a time takes batches, while others may ask.
class HeldSession {
 public:
  explicit HeldSession(Session session) : session_(std::move(session)) {}

  // Next, or nothing at the end of an epoch or of the data.
  std::optional<Batch> Take(Address stream, Seconds timeout);

  // Take and FinishInto. What it returns is StepOf and the sample ids, as bytes.
  nanobind::object TakeInto(const Finish& finish, const Room& room, Address stream,
                            Seconds timeout);

  // The next batch on its GPU, on the pool's stream: as it is stored, or finished into the pool's
  // memory. (step, memory, address of the images, of the labels, labels, sample_ids, tensors),
  // labels and ids on the host; None at the end of an epoch. `wanted` says which tensors of what
  // types.
  using Wanted = std::vector<std::tuple<uint32_t, std::string>>;
  nanobind::object TakeOnDevice(const SharedPool& pool, const std::optional<Finish>& finish,
                                const Wanted& wanted, Seconds timeout);

  // What `ask` says of the session, called in its turn without the interpreter's lock. It may wait
  // for the daemon's answer, and then a batch waits for it.
  template <typename Ask>
  auto Asked(const Ask& ask) {
    const nanobind::gil_scoped_release released;
    const Turns::Turn turn = turns_.Wait();
    return ask(session_);
  }
  void Close();

 private:
  Result<Batch> Next(Stream stream, Seconds timeout);
  std::optional<Result<Batch>> NextReady(Stream stream);
  bool AwaitReady(std::chrono::steady_clock::time_point deadline);
  // One thread takes batches; a second one is told so.
  std::unique_lock<std::mutex> Enter();

  Turns turns_;
  Session session_;  // in a turn; but who takes batches may read what only taking changes
  std::mutex taking_;
  bool lost_ = false;  // the daemon; who takes batches
};

// (epoch, step, first, rows, valid_rows, last_of_epoch)
nanobind::tuple StepOf(const Batch& batch);

void BindSession(nanobind::module_& module);

}  // namespace penstock::python
