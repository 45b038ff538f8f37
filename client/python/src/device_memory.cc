#include "client/python/src/device_memory.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "client/python/src/errors.h"
#include "client/python/src/gil.h"
#include "client/python/src/session.h"
#include "client/python/src/tensors.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

// The form of an array, without its address.
struct Form {
  std::vector<size_t> shape;
  std::vector<int64_t> strides;  // in elements; empty: no gaps
  nb::dlpack::dtype type;
  int device = 0;
};

// An object with __dlpack__(max_version=…) whose capsules keep the owner alive.
template <typename Data, typename... Annotations>
nb::object Exporter(nb::handle owner, Data data, const Form& form) {
  using View = nb::ndarray<nb::array_api, Annotations...>;
  return nb::cast(View(data, form.shape.size(), form.shape.data(), owner,
                       form.strides.empty() ? nullptr : form.strides.data(), form.type,
                       nb::device::cuda::value, form.device));
}

nb::object Export(nb::handle owner, Address data, const std::vector<size_t>& shape,
                  const std::vector<int64_t>& strides, const std::string& type, int device,
                  bool read_only) {
  const Form form = {shape, strides, DlpackType(DTypeNamed(type)), device};
  if (read_only) {
    return Exporter<const void*, nb::ro>(owner, reinterpret_cast<const void*>(data), form);
  }
  return Exporter<void*>(owner, reinterpret_cast<void*>(data), form);
}

SharedPool OpenPool(int device) {
  Result<DevicePool> pool = [&] {
    const WithoutGil released;
    return DevicePool::Open(device);
  }();
  return std::make_shared<DevicePool>(ValueOf(std::move(pool)));
}

void WaitFor(DevicePool& pool) {
  Status status;
  {
    const WithoutGil released;
    status = pool.Wait();
  }
  Check(status);
}

// Copies `bytes` at `from` in this memory, on the stream that will read the copy.
nb::tuple CopyFor(DeviceMemory& memory, Address from, uint64_t bytes, Address stream) {
  const Stream on = reinterpret_cast<Stream>(stream);
  Check(memory.HandTo(on));
  DeviceBuffer buffer = ValueOf(memory.pool().Take(bytes));
  Check(buffer.CopyFrom(reinterpret_cast<const void*>(from), bytes, on));
  const Address data = reinterpret_cast<Address>(buffer.data());
  std::unique_ptr<DeviceMemory> copy =
      std::make_unique<PoolMemory>(memory.shared_pool(), std::move(buffer));
  return nb::make_tuple(std::move(copy), data);
}

}  // namespace

Status LentSlot::HandTo(Stream stream) {
  if (std::count(readers_.begin(), readers_.end(), stream) != 0) return {};
  if (Status status = pool().LetFollow(stream); !status.ok()) return status;
  readers_.push_back(stream);
  return {};
}

// Releases the batch after its readers; without readers, after the pool's stream, on which it was
// taken. If that fails, Batch::Release waits for the device, without the GIL.
LentSlot::~LentSlot() {
  Stream last = pool().stream();
  if (readers_.size() == 1) last = readers_.front();
  Status status;
  if (readers_.size() > 1) {
    const Result<Stream> behind = pool().Behind(readers_);
    status = behind.status();
    if (behind.ok()) last = *behind;
  }
  if (status.ok()) status = batch_.Release(last);
  if (status.ok()) return;
  const WithoutGil released;
  batch_.Release();
}

void BindDeviceMemory(nb::module_& module) {
  nb::class_<DevicePool>(module, "DevicePool", "GPU memory for finished batches.")
      .def_static("open", &OpenPool, nb::arg("device"))
      .def_prop_ro("device", &DevicePool::device)
      .def_prop_ro("stream",
                   [](const DevicePool& pool) { return reinterpret_cast<Address>(pool.stream()); })
      .def("wait", &WaitFor, "Waits on the host for what the pool's stream has been given so far.");
  nb::class_<DeviceMemory>(module, "DeviceMemory", "GPU memory that arrays hold.")
      .def_prop_ro("pool", &DeviceMemory::shared_pool)
      .def(
          "hand_to",
          [](DeviceMemory& memory, Address stream) {
            Check(memory.HandTo(reinterpret_cast<Stream>(stream)));
          },
          nb::arg("stream"),
          "Makes the stream wait until the memory is filled; the release then waits for it.")
      .def("copy_for", &CopyFor, nb::arg("data"), nb::arg("bytes"), nb::arg("stream"),
           "(memory, address) of a copy that is made on the stream.");
  module.def("export_device_array", &Export, nb::arg("owner"), nb::arg("data"), nb::arg("shape"),
             nb::arg("strides"), nb::arg("dtype"), nb::arg("device"), nb::arg("read_only"),
             "An object with __dlpack__(max_version=...) whose capsules keep the owner alive.");
}

}  // namespace penstock::python
