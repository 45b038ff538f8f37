#include "client/python/src/maker.h"

#include <malloc.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "client/python/src/errors.h"
#include "client/python/src/gil.h"
#include "penstock/maker.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using std::chrono::milliseconds;

milliseconds ToTimeout(double seconds) {
  constexpr double kDay = 24 * 3600;
  return std::chrono::ceil<milliseconds>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, kDay)));
}

std::string ToBytes(const nb::bytes& token) { return std::string(token.c_str(), token.size()); }

// Calls without the GIL. Signal handlers run when the call has ended.
template <typename Call>
auto Waited(const Call& call) {
  auto result = [&] {
    const WithoutGil released;
    return call();
  }();
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return result;
}

MakerHost EnterHost(const std::string& address, const nb::bytes& token, const std::string& client,
                    int trainer_pidfd, int life_fd, double timeout) {
  const HostOptions options = {.address = address,
                               .token = ToBytes(token),
                               .client = client,
                               .trainer = trainer_pidfd,
                               .life = life_fd,
                               .timeout = ToTimeout(timeout)};
  return ValueOf(Waited([&] { return MakerHost::Enter(options); }));
}

nb::list NextPlaces(MakerHost& host, double timeout) {
  const auto wanted = ValueOf(Waited([&] { return host.Next(ToTimeout(timeout)); }));
  nb::list places;
  for (const PlaceStart& at : wanted) places.append(nb::make_tuple(at.place, at.start));
  return places;
}

MakerWorker EnterWorker(const std::string& address, const nb::bytes& token, uint32_t place,
                        uint32_t start, double timeout) {
  const std::string bytes = ToBytes(token);
  return ValueOf(Waited([&] {
    return MakerWorker::Enter(address, bytes, {place, start}, ToTimeout(timeout));
  }));
}

// Valid until the batch is answered.
nb::object WritableView(std::span<std::byte> room) {
  return nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(room.data()),
                                           static_cast<Py_ssize_t>(room.size()), PyBUF_WRITE));
}

nb::list Ids(const BatchToMake& batch) {
  nb::list ids;
  for (const uint64_t id : batch.ids) ids.append(id);
  return ids;
}

// malloc gives pages back to the kernel whenever a batch's samples are freed, and takes them again,
// one fault each, for the next batch: most of the cost of large samples. A user who has chosen
// himself keeps his choice.
void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kMiB = 1024 * 1024;
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(name) != nullptr) return;
  }
  ::mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
  ::mallopt(M_TRIM_THRESHOLD, 64 * kMiB);
#endif
}

void BindHost(nb::module_& module) {
  nb::class_<MakerHost>(module, "MakerHost",
                        "A host's side of its page: which workers to fork, and what became of "
                        "them.")
      .def_static("enter", &EnterHost, nb::arg("address"), nb::arg("token"), nb::arg("client"),
                  nb::arg("trainer_pidfd"), nb::arg("life_fd"), nb::arg("timeout"),
                  "Owns both descriptors from now on, also if it fails.")
      .def("close_inherited", [](MakerHost& host) { Check(host.CloseInherited()); })
      .def("next", &NextPlaces, nb::arg("timeout"),
           "[(place, start)] of the workers to fork; [] if the daemon wants none in time.")
      .def(
          "make_words",
          [](MakerHost& host, uint32_t place) { return ValueOf(host.MakeWords(place)); },
          nb::arg("place"), "A descriptor for the next worker's last words; the host owns it.")
      .def(
          "note_forked",
          [](MakerHost& host, uint32_t place, uint32_t start, int pid) {
            Check(host.NoteForked({place, start}, pid));
          },
          nb::arg("place"), nb::arg("start"), nb::arg("pid"))
      .def("fail", &MakerHost::Fail, nb::arg("why"), "Tells the daemon; the host must end then.")
      .def(
          "ask_to_end",
          [](MakerHost& host, int signal, double timeout) {
            host.AskToEnd(signal, ToTimeout(timeout));
          },
          nb::arg("signal"), nb::arg("timeout"),
          "Sends the workers a signal and waits for their end. The destructor kills the rest.")
      .def("leave_in_worker", &MakerHost::LeaveInWorker, nb::arg("place"),
           "Call it in a worker, first of all.")
      .def_prop_ro("workers", &MakerHost::workers, "How many are not yet reaped.");
  module.def(
      "end_with_host", [](int host) { Check(EndWithHost(host)); }, nb::arg("host"),
      "Asks the kernel to end this process when the one that forked it ends.");
  module.def("keep_freed_memory", &KeepFreedMemory,
             "Tells malloc to keep up to 64 MiB of freed memory for the next batch.");
}

void BindWorker(nb::module_& module) {
  nb::class_<BatchToMake>(module, "BatchToMake", "One batch to make.")
      .def_prop_ro("ids", &Ids, "Which sample each row is; a new list.")
      .def_prop_ro(
          "room", [](const BatchToMake& batch) { return WritableView(batch.room); },
          "Where to write the batch: a writable memoryview, valid until the batch is answered.")
      .def_ro("most", &BatchToMake::most, "Bytes that the feed allows.")
      .def_ro("attempt", &BatchToMake::attempt, "How often a worker died over this batch.")
      .def_ro("epoch", &BatchToMake::epoch)
      .def_ro("seed", &BatchToMake::seed)
      .def_ro("key_first", &BatchToMake::key_first)
      .def_ro("key_step", &BatchToMake::key_step)
      .def_ro("stream", &BatchToMake::stream)
      .def_ro("sequence", &BatchToMake::sequence);
  nb::class_<MakerWorker>(module, "MakerWorker", "A Python worker's side of its channel.")
      .def_static("enter", &EnterWorker, nb::arg("address"), nb::arg("token"), nb::arg("place"),
                  nb::arg("start"), nb::arg("timeout"))
      .def("ready", &MakerWorker::Ready)
      .def(
          "next",
          [](MakerWorker& worker, double timeout) {
            return ValueOf(Waited([&] { return worker.Next(ToTimeout(timeout)); }));
          },
          nb::arg("timeout"),
          "The next batch to make; DeadlineExceeded if none came, or a signal did.")
      .def("set_row", &MakerWorker::SetRow, nb::arg("row"))
      .def(
          "ask_for_room",
          [](MakerWorker& worker, uint64_t bytes, double timeout) {
            return WritableView(
                ValueOf(Waited([&] { return worker.AskForRoom(bytes, ToTimeout(timeout)); })));
          },
          nb::arg("bytes"), nb::arg("timeout"),
          "Room for so many bytes at the same address, as a memoryview; ResourceExhausted if there "
          "is none.")
      .def(
          "done", [](MakerWorker& worker, uint64_t bytes) { Check(worker.Done(bytes)); },
          nb::arg("bytes"))
      .def(
          "raised",
          [](MakerWorker& worker, uint32_t row, uint64_t bytes) {
            Check(worker.Raised(row, bytes));
          },
          nb::arg("row"), nb::arg("bytes"),
          "The room holds an exception. `row` raised it; the number of rows if it was none.");
}

}  // namespace

void BindMaker(nb::module_& module) {
  BindHost(module);
  BindWorker(module);
}

}  // namespace penstock::python
