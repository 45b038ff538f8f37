#include "client/python/src/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "client/python/src/errors.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Python's signal handlers run between two slices of a wait.
constexpr milliseconds kSlice(100);
// How long one Next may try to connect to a daemon that is gone.
constexpr milliseconds kConnect(500);

Clock::time_point DeadlineOf(Seconds timeout) {
  constexpr double kForEver = 365.0 * 24 * 3600;
  const double seconds = std::clamp(timeout.value_or(kForEver), 0.0, kForEver);
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

milliseconds Left(Clock::time_point deadline) {
  return std::chrono::ceil<milliseconds>(std::max(deadline - Clock::now(), Clock::duration(0)));
}

// False: nothing came in time.
bool AwaitReady(Session& session, Clock::time_point deadline) {
  for (;;) {
    const milliseconds slice = std::min(kSlice, Left(deadline));
    bool ready = false;
    {
      const nb::gil_scoped_release released;
      const Result<bool> news = session.WaitReady(slice);
      ready = !news.ok() || *news;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (ready) return true;
    if (Clock::now() >= deadline) return false;
  }
}

// Of a full batch: (rows, height, width, channels).
nb::tuple ShapeOf(const Session& session) {
  const Shape shape = session.shape();
  return nb::make_tuple(shape.rows, shape.height, shape.width, shape.channels);
}

bool IsEnd(const Status& status) {
  return status.code() == Code::kEndOfEpoch || status.code() == Code::kEndOfData;
}

}  // namespace

std::unique_lock<std::mutex> HeldSession::Enter() {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    Raise(Status(Code::kFailedPrecondition,
                 "another thread is taking a batch from this session; give each thread a loader of "
                 "its own: those of one feed share what is decoded"));
  }
  return lock;
}

// A ready batch is taken as it is. Only a session that lost its daemon may take its time: Next then
// connects again.
Result<Batch> HeldSession::Next(Stream stream, Seconds timeout) {
  if (!lost_ && ValueOf(session_.WaitReady(milliseconds(0)))) {
    Result<Batch> batch = session_.Next(stream, milliseconds(0));
    lost_ = batch.status().code() == Code::kUnavailable;
    return batch;
  }
  const bool came = AwaitReady(session_, DeadlineOf(timeout));
  const nb::gil_scoped_release released;
  Result<Batch> batch = session_.Next(stream, came ? kConnect : milliseconds(0));
  lost_ = batch.status().code() == Code::kUnavailable;
  return batch;
}

std::optional<Batch> HeldSession::Take(Address stream, Seconds timeout) {
  const std::unique_lock<std::mutex> lock = Enter();
  Result<Batch> batch = Next(reinterpret_cast<Stream>(stream), timeout);
  if (!batch.ok() && IsEnd(batch.status())) return std::nullopt;
  return ValueOf(std::move(batch));
}

nb::object HeldSession::TakeInto(const Finish& finish, const Room& room, Address stream,
                                 Seconds timeout) {
  const std::unique_lock<std::mutex> lock = Enter();
  const Stream on = reinterpret_cast<Stream>(stream);
  Result<Batch> batch = Next(on, timeout);
  if (!batch.ok() && IsEnd(batch.status())) return nb::none();
  if (!batch.ok()) Raise(batch.status());
  if (room.sample_ids != 0) {
    const auto ids = batch->sample_ids();
    std::memcpy(reinterpret_cast<void*>(room.sample_ids), ids.data(), ids.size_bytes());
  }
  const Into into = {reinterpret_cast<void*>(room.images), room.image_bytes,
                     reinterpret_cast<int64_t*>(room.labels)};
  Status finished;
  if (session_.device() >= 0) {
    finished = batch->FinishInto(finish, into, on);
  } else {
    const nb::gil_scoped_release released;
    finished = batch->FinishInto(finish, into, on);
  }
  Check(finished);
  return StepOf(*batch);
}

void HeldSession::Close() {
  const std::unique_lock<std::mutex> lock = Enter();
  Status status;
  {
    const nb::gil_scoped_release released;
    status = session_.Close();
  }
  Check(status);
}

void BindSession(nb::module_& module) {
  nb::class_<HeldSession>(module, "Session", "One consumer of one feed.")
      .def("take", &HeldSession::Take, nb::arg("stream"), nb::arg("timeout").none(),
           "The next batch as it is stored, held; None at the end of an epoch.")
      .def(
          "take_into",
          [](HeldSession& session, const Finish& finish, Address images, uint64_t image_bytes,
             Address labels, Address sample_ids, Address stream, Seconds timeout) {
            return session.TakeInto(finish, {images, image_bytes, labels, sample_ids}, stream,
                                    timeout);
          },
          nb::arg("finish"), nb::arg("images"), nb::arg("image_bytes"), nb::arg("labels"),
          nb::arg("sample_ids"), nb::arg("stream"), nb::arg("timeout").none(),
          "The next batch, finished into the caller's memory: (epoch, step, first, rows, "
          "valid_rows, last_of_epoch); None at the end of an epoch.")
      .def_prop_ro("state", [](const HeldSession& session) { return session.get().state(); })
      .def_prop_ro("samples", [](const HeldSession& session) { return session.get().samples(); })
      .def_prop_ro("shape", [](const HeldSession& session) { return ShapeOf(session.get()); })
      .def_prop_ro("device", [](const HeldSession& session) { return session.get().device(); })
      .def_prop_ro("delivery", [](const HeldSession& session) { return session.get().delivery(); })
      .def_prop_ro("delivery_reason",
                   [](const HeldSession& session) { return session.get().delivery_reason(); })
      .def_prop_ro("handle", [](const HeldSession& session) { return session.get().handle(); })
      .def("close", &HeldSession::Close);
}

nb::tuple StepOf(const Batch& batch) {
  return nb::make_tuple(batch.epoch(), batch.step(), batch.first(), batch.rows(),
                        batch.valid_rows(), batch.last_of_epoch());
}

}  // namespace penstock::python
