#include "client/python/src/lease.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <vector>

#include "client/python/src/effects.h"
#include "client/python/src/errors.h"
#include "client/python/src/gil.h"
#include "client/python/src/host_copy.h"
#include "client/python/src/session.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

Batch& BatchOf(nb::handle lease) { return nb::cast<Batch&>(lease); }

// The stored rows as a read-only array that keeps the lease alive.
nb::object Images(nb::handle lease) {
  const Batch& batch = BatchOf(lease);
  if (batch.images().empty()) return nb::none();
  const Shape shape = batch.shape();
  const size_t sides[] = {shape.rows, shape.height, shape.width, shape.channels};
  return nb::cast(nb::ndarray<nb::numpy, const uint8_t>(batch.images().data(), 4, sides, lease));
}

std::vector<uint64_t> ToTuple(const Batch& batch) {
  const Shape shape = batch.shape();
  return {shape.rows, shape.height, shape.width, shape.channels};
}

// Finishes into host memory that the caller provides.
void FinishOnHost(const Batch& batch, const Finish& finish, Address images, uint64_t bytes,
                  const RequestedEffects& effects, Address soft_labels, uint64_t soft_bytes) {
  Status status;
  {
    const WithoutGil released;
    const Result<DrawnEffects> drawn = DrawFor(effects, batch, soft_labels, soft_bytes);
    status = drawn.ok()
                 ? batch.FinishInto(finish, drawn->For(reinterpret_cast<float*>(soft_labels)),
                                    reinterpret_cast<void*>(images), bytes)
                 : drawn.status();
  }
  Check(status);
}

// Without the GIL, because it waits for the GPU if the rows were exposed there.
void Release(Batch& batch) {
  const WithoutGil released;
  batch.Release();
}

}  // namespace

void BindLease(nb::module_& module) {
  nb::class_<Batch>(module, "Lease", "A batch, held until its last view is gone.")
      .def_prop_ro("step", &ToStep, "(epoch, step, first, rows, valid_rows, last_of_epoch)")
      .def_prop_ro("shape", [](const Batch& batch) { return nb::tuple(nb::cast(ToTuple(batch))); })
      .def_prop_ro("on_device", &Batch::on_device)
      .def_prop_ro("images", &Images, "The stored rows as a read-only NumPy array; None on a GPU.")
      .def_prop_ro("labels", [](const Batch& batch) { return HostCopy(batch.labels()); })
      .def_prop_ro("sample_ids", [](const Batch& batch) { return HostCopy(batch.sample_ids()); })
      .def_prop_ro("device_images",
                   [](const Batch& batch) { return Address(batch.device_images()); })
      .def_prop_ro("device_labels",
                   [](const Batch& batch) { return Address(batch.device_labels()); })
      .def("finished_bytes", &Batch::FinishedBytes, nb::arg("finish"))
      .def("finish_on_host", &FinishOnHost, nb::arg("finish"), nb::arg("images"),
           nb::arg("image_bytes"), nb::arg("effects").none() = nb::none(),
           nb::arg("soft_labels") = Address{0}, nb::arg("soft_bytes") = 0)
      .def("release", &Release)
      .def(
          "release_behind",
          [](Batch& batch, Address stream) {
            Check(batch.Release(reinterpret_cast<Stream>(stream)));
          },
          nb::arg("stream"));
}

}  // namespace penstock::python
