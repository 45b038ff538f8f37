// Converts the client's statuses to Python exceptions: one class in penstock.errors for each code.
#pragma once

#include <utility>

#include "penstock/status.h"

namespace penstock::python {

// Raises the exception for the status's code, with its message. **Requires**: the GIL.
[[noreturn]] void Raise(const Status& status);

inline void Check(const Status& status) {
  if (!status.ok()) Raise(status);
}

template <typename T>
T ValueOf(Result<T> result) {
  if (!result.ok()) Raise(result.status());
  return *std::move(result);
}

}  // namespace penstock::python
