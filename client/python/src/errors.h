// The client's statuses as Python's exceptions: one class for each code, in penstock.errors.
#pragma once

#include <utility>

#include "penstock/status.h"

namespace penstock::python {

// Raises the exception that penstock.errors has for the code, with the status's words. The GIL is
// held.
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
