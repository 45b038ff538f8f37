#include "client/python/src/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

#include "client/python/src/errors.h"
#include "client/python/src/host_copy.h"
#include "client/python/src/huge_pages.h"
#include "client/python/src/made.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Python's signal handlers run between two slices of a wait.
constexpr milliseconds kSlice(100);
// How long one call to Next may try to reconnect.
constexpr milliseconds kConnect(500);
// What take_made returns if this process must fork a host first.
constexpr char kHostWanted[] = "host wanted";

Clock::time_point DeadlineOf(Seconds timeout) {
  constexpr double kForEver = 365.0 * 24 * 3600;
  const double seconds = std::clamp(timeout.value_or(kForEver), 0.0, kForEver);
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

milliseconds Left(Clock::time_point deadline) {
  return std::chrono::ceil<milliseconds>(std::max(deadline - Clock::now(), Clock::duration(0)));
}

// Calls a member function of the session in a turn.
template <auto kFunction>
auto Ask(HeldSession& held) {
  return held.Asked([](Session& session) { return (session.*kFunction)(); });
}

// For a full batch: (rows, height, width, channels).
nb::tuple ToTuple(const Shape& shape) {
  return nb::make_tuple(shape.rows, shape.height, shape.width, shape.channels);
}

size_t FinishedBytes(const Shape& shape, const Finish& finish) {
  const size_t values = size_t{shape.rows} * shape.height * shape.width * shape.channels;
  const bool halves = finish.type == Type::kFloat16 || finish.type == Type::kBFloat16;
  return values * (finish.type == Type::kUInt8 ? 1 : halves ? 2 : 4);
}

// Labels come after the images, at an offset that suits any array.
size_t LabelsOffset(size_t image_bytes) { return (image_bytes + 255) / 256 * 256; }

// A batch in GPU memory, as Python gets it.
struct OnDevice {
  std::unique_ptr<DeviceMemory> memory;
  Address images = 0, labels = 0;
  std::vector<Placed> tensors = {};
  std::optional<Address> soft_labels = {};  // set with effects
};

nb::tuple Described(nb::tuple step, nb::object labels, nb::object sample_ids, OnDevice there) {
  const std::optional<Address> soft_labels = there.soft_labels;
  nb::tuple described =
      nb::make_tuple(std::move(step), std::move(there.memory), there.images, there.labels,
                     std::move(labels), std::move(sample_ids), std::move(there.tensors));
  return soft_labels ? nb::tuple(described + nb::make_tuple(*soft_labels)) : described;
}

// Addresses of the tensors in the batch's own slot.
std::vector<Placed> PlacesIn(const Batch& batch, const HeldSession::Wanted& wanted) {
  std::vector<Placed> places;
  for (const auto& [tensor, type] : wanted) {
    const TensorView view = batch.tensor(tensor);
    places.emplace_back(reinterpret_cast<Address>(view.data), view.row_stride,
                        reinterpret_cast<Address>(view.lengths));
  }
  return places;
}

nb::dict ToDict(HeldSession& held) {
  const SessionStats stats = held.Asked([](Session& session) { return session.Stats(); });
  nb::dict values;
  values["batches"] = stats.batches;
  values["batches_ready"] = stats.batches_ready;
  values["waited_seconds"] = stats.waited_seconds;
  values["busy_seconds"] = stats.busy_seconds;
  values["rows_replaced"] = stats.rows_replaced;
  values["decoder_bytes"] = stats.decoder_bytes;
  values["daemon_answered"] = stats.daemon_answered;
  values["batches_ahead"] = stats.batches_ahead;
  values["samples_decoded"] = stats.samples_decoded;
  values["samples_replaced"] = stats.samples_replaced;
  values["workers_busy"] = stats.workers_busy;
  values["samples_per_second"] = stats.samples_per_second;
  values["verdict"] = stats.verdict;
  return values;
}

double WaitedSeconds(HeldSession& held) {
  return held.Asked(
      [](Session& session) { return std::chrono::duration<double>(session.Waited()).count(); });
}

nb::list DescribedTensors(HeldSession& held) { return ToTensorList(Ask<&Session::tensors>(held)); }

nb::tuple View(HeldSession& held, nb::handle lease, size_t tensor) {
  return ViewOf(lease, Ask<&Session::tensors>(held).at(tensor), tensor);
}

bool IsEnd(const Status& status) {
  return status.code() == Code::kEndOfEpoch || status.code() == Code::kEndOfData;
}

// The session itself cannot say so: this thread would have to wait for it.
[[noreturn]] void RaiseForked() {
  Raise(Status(Code::kFailedPrecondition,
               "this loader was in use by a thread of the process before the fork; start the child "
               "with multiprocessing's spawn or forkserver method, and make a loader there"));
}

}  // namespace

std::unique_lock<std::mutex> HeldSession::Enter() {
  std::unique_lock<std::mutex> lock(taking_, std::try_to_lock);
  if (!lock.owns_lock()) {
    if (Forked()) RaiseForked();
    Raise(Status(Code::kFailedPrecondition,
                 "another thread is taking a batch from this session; give each thread a loader of "
                 "its own: loaders of one feed share what is decoded"));
  }
  return lock;
}

void HeldSession::CheckProcess() {
  if (!turns_.Try() && Forked()) RaiseForked();
}

// Returns false if nothing came in time. Other threads get their turn between two slices.
bool HeldSession::AwaitReady(Clock::time_point deadline) {
  for (;;) {
    const milliseconds slice = std::min(kSlice, Left(deadline));
    const bool ready = Asked([&](Session& session) {
      const Result<bool> news = session.WaitReady(slice);
      return !news.ok() || *news;
    });
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (ready) return true;
    if (Clock::now() >= deadline) return false;
  }
}

// Takes a ready batch without releasing the GIL. Returns nothing if none is ready or another thread
// has the turn.
std::optional<Result<Batch>> HeldSession::NextReady(Stream stream) {
  const Turns::Turn turn = turns_.Try();
  if (!turn || lost_ || !ValueOf(session_.WaitReady(milliseconds(0)))) return std::nullopt;
  return session_.Next(stream, milliseconds(0));
}

// Only a session that lost its daemon may block in session.Next, which then reconnects. The first
// batch may take longer than that, so only the caller's own time limit ends the wait for it.
Result<Batch> HeldSession::Next(Stream stream, Seconds timeout) {
  std::optional<Result<Batch>> batch = NextReady(stream);
  for (const Clock::time_point deadline = DeadlineOf(timeout); !batch;) {
    const bool came = AwaitReady(deadline);
    batch = Asked(
        [&](Session& session) { return session.Next(stream, came ? kConnect : milliseconds(0)); });
    const bool late = batch->status().code() == Code::kDeadlineExceeded;
    if (late && Clock::now() < deadline) batch.reset();
  }
  lost_ = batch->status().code() == Code::kUnavailable;
  return *std::move(batch);
}

std::optional<Batch> HeldSession::Take(Address stream, Seconds timeout) {
  const std::unique_lock<std::mutex> lock = Enter();
  Result<Batch> batch = Next(reinterpret_cast<Stream>(stream), timeout);
  if (!batch.ok() && IsEnd(batch.status())) return std::nullopt;
  return ValueOf(std::move(batch));
}

nb::object HeldSession::TakeInto(const Finish& finish, const Destination& destination,
                                 Address stream, Seconds timeout, const RequestedEffects& effects) {
  const std::unique_lock<std::mutex> lock = Enter();
  const Stream on = reinterpret_cast<Stream>(stream);
  Result<Batch> batch = Next(on, timeout);
  if (!batch.ok() && IsEnd(batch.status())) return nb::none();
  if (!batch.ok()) Raise(batch.status());
  const auto ids = batch->sample_ids();
  nb::bytes sample_ids(ids.data(), ids.size_bytes());
  std::vector<TensorInto> tensors = ToInto(destination.tensors);
  const ViewsInto views = ValueOf(ViewsInto::For(destination.views, session_.tensors(), *batch));
  views.AppendTo(tensors);
  const Into into = {reinterpret_cast<void*>(destination.images), destination.image_bytes,
                     reinterpret_cast<int64_t*>(destination.labels), tensors};
  const DrawnEffects drawn =
      ValueOf(DrawFor(effects, *batch, destination.soft_labels, destination.soft_bytes));
  const Effects on_batch = drawn.For(reinterpret_cast<float*>(destination.soft_labels));
  Status finished;
  if (session_.device() >= 0) {
    finished = batch->FinishInto(finish, on_batch, into, on);
  } else {
    const WithoutGil released;
    PreferHugePages(into.images, into.image_bytes);
    finished = batch->FinishInto(finish, on_batch, into, on);
  }
  Check(finished);
  return nb::make_tuple(ToStep(*batch), std::move(sample_ids));
}

// Allocates before taking a batch, so that no batch is lost if memory runs out.
nb::object HeldSession::TakeOnDevice(const SharedPool& pool, const std::optional<Finish>& finish,
                                     const Wanted& wanted, Seconds timeout,
                                     const RequestedEffects& effects) {
  const std::unique_lock<std::mutex> lock = Enter();
  std::optional<DeviceBuffer> buffer;
  const size_t image_bytes = finish ? FinishedBytes(session_.shape(), *finish) : 0;
  TensorPlan plan;
  size_t soft_at = 0, soft_bytes = 0;
  if (finish) {
    const size_t labels = sizeof(int64_t) * session_.shape().rows;
    plan = PlanTensors(session_, wanted, LabelsOffset(image_bytes) + labels);
    soft_at = LabelsOffset(plan.bytes);
    soft_bytes = SoftBytes(effects, session_.shape().rows);
    buffer = ValueOf(pool->Take(soft_bytes == 0 ? plan.bytes : soft_at + soft_bytes));
  }
  Result<Batch> batch = Next(pool->stream(), timeout);
  if (!batch.ok() && IsEnd(batch.status())) return nb::none();
  if (!batch.ok()) Raise(batch.status());
  nb::object labels = HostCopy(batch->labels()), ids = HostCopy(batch->sample_ids());
  OnDevice there;
  if (finish) {
    std::byte* const data = static_cast<std::byte*>(buffer->data());
    auto* const row_labels = reinterpret_cast<int64_t*>(data + LabelsOffset(image_bytes));
    Settle(plan, data);
    const Address soft = soft_bytes == 0 ? 0 : reinterpret_cast<Address>(data + soft_at);
    const nb::tuple step = ToStep(*batch);
    const DrawnEffects drawn = ValueOf(DrawFor(effects, *batch, soft, soft_bytes));
    Check(batch->FinishInto(*finish, drawn.For(reinterpret_cast<float*>(soft)),
                            {data, image_bytes, row_labels, plan.into}, pool->stream()));
    there = {std::make_unique<PoolMemory>(pool, *std::move(buffer)),
             reinterpret_cast<Address>(data), reinterpret_cast<Address>(row_labels),
             std::move(plan.placed), effects ? std::optional(soft) : std::nullopt};
    return Described(step, std::move(labels), std::move(ids), std::move(there));
  }
  there.images = reinterpret_cast<Address>(batch->device_images());
  there.labels = reinterpret_cast<Address>(batch->device_labels());
  there.tensors = PlacesIn(*batch, wanted);
  const nb::tuple step = ToStep(*batch);
  there.memory = std::make_unique<LentSlot>(pool, *std::move(batch));
  return Described(step, std::move(labels), std::move(ids), std::move(there));
}

bool HeldSession::HostIsWanted() {
  const Turns::Turn turn = turns_.Try();
  return turn && session_.HostsWanted() != 0;
}

// Looks for a wanted host first, because batches that are ready could hide for long that no process
// makes further ones.
nb::object HeldSession::TakeMade(Seconds timeout) {
  const std::unique_lock<std::mutex> lock = Enter();
  if (HostIsWanted()) return nb::str(kHostWanted);
  if (!untaken_) {
    Result<Batch> batch = Next(nullptr, timeout);
    if (!batch.ok() && IsEnd(batch.status())) return nb::none();
    if (batch.status().code() == Code::kHostWanted) return nb::str(kHostWanted);
    untaken_ = ValueOf(std::move(batch));
  }
  const std::span<const uint64_t> ids = untaken_->sample_ids();
  nb::bytes sample_ids(ids.data(), ids.size_bytes());
  nb::tuple step = ToStep(*untaken_);
  Result<MadeBatch> made = [&] {
    const WithoutGil released;
    return MadeBatch::From(*untaken_);
  }();
  nb::object buffer = ToBuffer(ValueOf(std::move(made)));
  untaken_.reset();
  return nb::make_tuple(std::move(buffer), std::move(step), std::move(sample_ids));
}

nb::bytes HeldSession::HostToken() {
  const std::string token = Ask<&Session::host_token>(*this);
  return nb::bytes(token.data(), token.size());
}

void HeldSession::Close() {
  const std::unique_lock<std::mutex> lock = Enter();
  Check(Asked([](Session& session) { return session.Close(); }));
}

namespace {

void BindHosts(nb::class_<HeldSession>& session) {
  session
      .def("take_made", &HeldSession::TakeMade, nb::arg("timeout").none(),
           "The next batch of a Python dataset: (buffer, (epoch, step, first, rows, valid_rows, "
           "last_of_epoch), sample ids as bytes of uint64); None at the end of an epoch; "
           "HOST_WANTED if this process must fork a host, call note_host_forked, and call again.")
      .def_prop_ro("host_token", &HeldSession::HostToken)
      .def_prop_ro("hosts_wanted", &Ask<&Session::HostsWanted>,
                   "How many hosts the daemon wants that this process has not answered for.")
      .def("note_host_forked",
           [](HeldSession& held) { Check(Ask<&Session::NoteHostForked>(held)); });
}

}  // namespace

void BindSession(nb::module_& module) {
  module.attr("HOST_WANTED") = kHostWanted;
  nb::class_<HeldSession> session(module, "Session", "One consumer of one feed.");
  BindHosts(session);
  session
      .def("take", &HeldSession::Take, nb::arg("stream"), nb::arg("timeout").none(),
           "The next batch as it is stored, held; None at the end of an epoch.")
      .def(
          "take_into",
          [](HeldSession& session, const Finish& finish, Address images, uint64_t image_bytes,
             Address labels, Address stream, Seconds timeout,
             const std::vector<TensorDestination>& tensors, const RequestedEffects& effects,
             Address soft_labels, uint64_t soft_bytes, const std::vector<ViewDestination>& views) {
            return session.TakeInto(
                finish, {images, image_bytes, labels, tensors, soft_labels, soft_bytes, views},
                stream, timeout, effects);
          },
          nb::arg("finish"), nb::arg("images"), nb::arg("image_bytes"), nb::arg("labels"),
          nb::arg("stream"), nb::arg("timeout").none(),
          nb::arg("tensors") = std::vector<TensorDestination>(),
          nb::arg("effects").none() = nb::none(), nb::arg("soft_labels") = Address{0},
          nb::arg("soft_bytes") = 0, nb::arg("views") = std::vector<ViewDestination>(),
          "The next batch, finished into the caller's memory: ((epoch, step, first, rows, "
          "valid_rows, last_of_epoch), sample ids as bytes of uint64); None at the end of an "
          "epoch.")
      .def(
          "take_on_device", &HeldSession::TakeOnDevice, nb::arg("pool"), nb::arg("finish").none(),
          nb::arg("wanted"), nb::arg("timeout").none(), nb::arg("effects").none() = nb::none(),
          "The next batch in GPU memory, finished on the pool's stream, or as it is stored: (step, "
          "memory, images, labels, labels on the host, sample_ids, [(address, row stride, address "
          "of lengths)] of the requested tensors); None at the end of an epoch. With effects, "
          "which only a finish has, the address of the soft labels comes last, or 0.")
      .def_prop_ro("tensors", &DescribedTensors)
      .def_prop_ro("labeled", &Ask<&Session::labeled>)
      .def("view", &View, nb::arg("lease"), nb::arg("tensor"),
           "A tensor of a batch as a read-only NumPy view, and its lengths or None.")
      .def_prop_ro("state", &Ask<&Session::state>)
      .def_prop_ro("samples", &Ask<&Session::samples>)
      .def_prop_ro("dataset_digest", &Ask<&Session::dataset_digest>)
      .def_prop_ro("shape", [](HeldSession& held) { return ToTuple(Ask<&Session::shape>(held)); })
      .def_prop_ro("device", &Ask<&Session::device>)
      .def_prop_ro("delivery", &Ask<&Session::delivery>)
      .def_prop_ro("delivery_reason", &Ask<&Session::delivery_reason>)
      .def_prop_ro("handle", &Ask<&Session::handle>)
      .def("stats", &ToDict)
      .def_prop_ro("waited_seconds", &WaitedSeconds)
      .def("close", &HeldSession::Close);
}

nb::tuple ToStep(const Batch& batch) {
  return nb::make_tuple(batch.epoch(), batch.step(), batch.first(), batch.rows(),
                        batch.valid_rows(), batch.last_of_epoch());
}

}  // namespace penstock::python
