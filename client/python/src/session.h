// A session for Python: the client's Session, with waits that Ctrl-C can end, and without the GIL
// while it waits or computes.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

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
#include "client/python/src/effects.h"
#include "client/python/src/gil.h"
#include "client/python/src/tensors.h"
#include "client/python/src/views.h"
#include "penstock/penstock.h"

namespace penstock::python {

// In seconds; unset: no limit.
using Seconds = std::optional<double>;

struct Destination {
  Address images = 0;
  uint64_t image_bytes = 0;
  Address labels = 0;  // int64, one for each row
  std::vector<TensorDestination> tensors = {};
  Address soft_labels = 0;  // float32, rows × classes; 0: not wanted
  uint64_t soft_bytes = 0;
  std::vector<ViewDestination> views = {};
};

// Gives threads turns at a session, which serves one thread at a time: the thread that takes
// batches and threads that query it. First come, first served, so that a thread that takes batch
// after batch lets others in. A thread with the turn never waits for the GIL, and so no thread that
// holds the GIL waits for it.
class Turns {
 public:
  using Turn = std::unique_lock<std::mutex>;
  Turn Wait() {
    const std::lock_guard line(line_);
    return Turn(session_);
  }
  // Empty if another thread has the turn or waits for it.
  Turn Try() {
    const Turn line(line_, std::try_to_lock);
    return line ? Turn(session_, std::try_to_lock) : Turn();
  }

 private:
  std::mutex line_, session_;
};

// **Thread safety**: any thread may query; one at a time may take batches.
class HeldSession {
 public:
  explicit HeldSession(Session session) : session_(std::move(session)) {}

  // Session::Next; nothing at the end of an epoch or of the data.
  std::optional<Batch> Take(Address stream, Seconds timeout);

  // Take and FinishInto. Returns (ToStep, sample ids as bytes).
  nanobind::object TakeInto(const Finish& finish, const Destination& destination, Address stream,
                            Seconds timeout, const RequestedEffects& effects);

  // Takes the next batch on the GPU, on the pool's stream: as it is stored, or finished into the
  // pool's memory. Returns (step, memory, address of the images, address of the labels, labels,
  // sample_ids, tensors), with labels and ids on the host; None at the end of an epoch. `wanted`
  // lists tensors and their types. With effects, which only a finish has, the address of the soft
  // labels comes last, or 0.
  using Wanted = std::vector<std::tuple<uint32_t, std::string>>;
  nanobind::object TakeOnDevice(const SharedPool& pool, const std::optional<Finish>& finish,
                                const Wanted& wanted, Seconds timeout,
                                const RequestedEffects& effects);

  // Takes a batch of a Python dataset. Returns (buffer, ToStep, sample ids as bytes); None at the
  // end of an epoch; HOST_WANTED if this process must fork a host first.
  nanobind::object TakeMade(Seconds timeout);
  nanobind::bytes HostToken();

  // Calls `ask` on the session in a turn, without the GIL. If it waits for the daemon's answer,
  // batches wait for it. Raises what a signal handler raised meanwhile.
  template <typename Ask>
  auto Asked(const Ask& ask) {
    CheckProcess();
    auto answer = [&] {
      const WithoutGil released;
      const Turns::Turn turn = turns_.Wait();
      return ask(session_);
    }();
    if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
    return answer;
  }
  void Close();

 private:
  Result<Batch> Next(Stream stream, Seconds timeout);
  bool HostIsWanted();
  std::optional<Result<Batch>> NextReady(Stream stream);
  bool AwaitReady(std::chrono::steady_clock::time_point deadline);
  // Raises in a forked child if a thread of the parent had the turn at the fork: nobody in the
  // child would give it back.
  void CheckProcess();
  bool Forked() const { return ::getpid() != maker_; }
  // Admits one thread to take batches; a second one gets an error.
  std::unique_lock<std::mutex> Enter();

  const pid_t maker_ = ::getpid();
  Turns turns_;
  Session session_;  // use in a turn; the taking thread may read members that only it changes
  std::mutex taking_;
  bool lost_ = false;  // the daemon is gone; used by the taking thread only
  // A made batch for whose copy there was no memory: the next call returns it.
  std::optional<Batch> untaken_;
};

// (epoch, step, first, rows, valid_rows, last_of_epoch)
nanobind::tuple ToStep(const Batch& batch);

void BindSession(nanobind::module_& module);

}  // namespace penstock::python
