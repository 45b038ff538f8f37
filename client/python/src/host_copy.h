// Copies small data that may outlive its batch into a NumPy array.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace penstock::python {

template <typename T>
nanobind::object HostCopy(std::span<const T> from) {
  T* const data = new T[from.size()];
  std::copy(from.begin(), from.end(), data);
  const nanobind::capsule owner(data,
                                [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
  const size_t sides[] = {from.size()};
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(data, 1, sides, owner));
}

}  // namespace penstock::python
