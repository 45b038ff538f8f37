// Releases the GIL, and takes it back without harm while the interpreter ends.
//
// An interpreter that ends makes every other thread that asks for the GIL exit, before Python 3.14
// by unwinding its stack. That would end the process with std::terminate, because nanobind's
// functions and our destructors are noexcept. So these classes stop such a thread for good where it
// is; the process ends without it.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <utility>

namespace penstock::python {

[[noreturn]] void StopThread();

// Calls `work`, which takes the GIL or runs Python code. Stops the thread if Python unwinds it.
template <typename Work>
auto StopIfUnwound(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (abi::__forced_unwind&) {
    StopThread();
  }
}

// Releases the GIL as long as it lives.
//
// **Requires**: the thread has the GIL.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()), outer_(std::exchange(innermost_, this)) {}
  ~WithoutGil() {
    innermost_ = outer_;
    StopIfUnwound([&] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  // Takes the GIL as long as it lives, if this thread has released it.
  class Back {
   public:
    Back() : released_(std::exchange(innermost_, nullptr)) {
      if (released_ != nullptr) StopIfUnwound([&] { PyEval_RestoreThread(released_->state_); });
    }
    ~Back() {
      innermost_ = released_;
      if (released_ != nullptr) released_->state_ = PyEval_SaveThread();
    }
    Back(const Back&) = delete;
    Back& operator=(const Back&) = delete;

   private:
    WithoutGil* const released_;
  };

 private:
  static thread_local WithoutGil* innermost_;  // null: this thread has the GIL

  PyThreadState* state_;
  WithoutGil* const outer_;
};

}  // namespace penstock::python
