// A session for Python: the client's, with a wait that Ctrl-C ends and without the interpreter's
// lock while it waits or computes.
#pragma once

#include <nanobind/nanobind.h>

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

  const Session& get() const { return session_; }
  Session& get() { return session_; }
  void Close();

 private:
  Result<Batch> Next(Stream stream, Seconds timeout);
  // Sessions serve one thread at a time; a second one is told so.
  std::unique_lock<std::mutex> Enter();

  Session session_;
  std::mutex mutex_;
  bool lost_ = false;  // the daemon
};

// (epoch, step, first, rows, valid_rows, last_of_epoch)
nanobind::tuple StepOf(const Batch& batch);

void BindSession(nanobind::module_& module);

}  // namespace penstock::python
