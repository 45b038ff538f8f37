#include "client/python/src/made.h"

#include <cstddef>
#include <span>
#include <utility>

#include "client/python/src/gil.h"
#include "penstock/made.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

// Ending a lent batch may take as long as reading it, so other threads run meanwhile.
class MadeBuffer {
 public:
  explicit MadeBuffer(MadeBatch made) : made_(std::move(made)) {}
  MadeBuffer(MadeBuffer&&) noexcept = default;
  ~MadeBuffer() {
    if (!made_.lent()) return;
    const WithoutGil released;
    const MadeBatch ends(std::move(made_));
  }
  const MadeBatch& made() const { return made_; }

 private:
  MadeBatch made_;
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const std::span<std::byte> bytes = nb::inst_ptr<MadeBuffer>(self)->made().bytes();
  constexpr int kWritable = 0;
  return PyBuffer_FillInfo(view, self, bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                           kWritable, flags);
}

PyType_Slot made_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&GetBuffer)}, {0, nullptr}};

}  // namespace

nb::object ToBuffer(MadeBatch made) { return nb::cast(MadeBuffer(std::move(made))); }

void BindMade(nb::module_& module) {
  nb::class_<MadeBuffer>(module, "MadeBuffer", nb::type_slots(made_slots),
                         "A batch of a Python dataset: a writable buffer of its own. The batch is "
                         "released when the last view of it is gone.")
      .def("__len__", [](const MadeBuffer& buffer) { return buffer.made().bytes().size(); })
      .def_prop_ro(
          "lent", [](const MadeBuffer& buffer) { return buffer.made().lent(); },
          "Whether the memory is the batch's own slot, which then stays held; else it is a copy.");
}

}  // namespace penstock::python
