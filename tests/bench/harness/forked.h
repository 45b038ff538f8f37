// Child processes that run a function of this program, and memory that they share with it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <new>
#include <utility>

#include "common/base/status.h"
#include "common/posix/memory.h"

namespace penstock::bench {

// A forked child that runs `body` and exits with the code that `body` returns. It has a process
// group of its own, so that only the parent gets Ctrl-C. It is killed when its parent dies or
// destroys this object. **Requires**: this process has one thread.
class ForkedChild {
 public:
  static absl::StatusOr<ForkedChild> Start(const std::function<int()>& body);
  ForkedChild(ForkedChild&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ForkedChild& operator=(ForkedChild&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~ForkedChild();

  // OK while it runs, or if it exited with 0; otherwise how it ended. Never waits.
  absl::Status Check();
  bool Ended() const { return pid_ < 0; }  // as of the last Check

 private:
  explicit ForkedChild(pid_t pid) : pid_(pid) {}
  pid_t pid_;  // -1: ended, or moved from
};

// One T in memory that is shared with all children forked from now on.
template <typename T>
class Shared {
 public:
  static absl::StatusOr<Shared> Make() {
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory, posix::MakeMemory("bench", sizeof(T)));
    PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                              posix::Mapping::Map(memory, sizeof(T), posix::Access::kReadWrite));
    new (mapping.data()) T();
    return Shared(std::move(mapping));
  }

  T& operator*() const { return *reinterpret_cast<T*>(mapping_.data()); }
  T* operator->() const { return &**this; }

 private:
  explicit Shared(posix::Mapping mapping) : mapping_(std::move(mapping)) {}
  posix::Mapping mapping_;
};

}  // namespace penstock::bench
