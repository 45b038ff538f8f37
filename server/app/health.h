// Whether the daemon serves, as reported by its health services: true once a canary batch came
// through, unless it drains or has failed.
//
// **Thread safety**: any thread.
#pragma once

#include <functional>
#include <utility>

#include "common/base/mutex.h"

namespace penstock::app {

class Health {
 public:
  // `publish` is called after each change with whether the daemon serves. It must not call back.
  explicit Health(std::function<void(bool serves)> publish) : publish_(std::move(publish)) {}

  void SetReady(bool ready) { Set(&Conditions::ready, ready); }
  void SetDraining(bool draining) { Set(&Conditions::draining, draining); }
  // Permanent.
  void Fail() { Set(&Conditions::failed, true); }

  bool serves() const {
    const base::MutexLock lock(mutex_);
    return now_.Serves();
  }

 private:
  struct Conditions {
    bool ready = false, draining = false, failed = false;
    bool Serves() const { return ready && !draining && !failed; }
  };
  // Publishes under the lock, so that the last publication matches the last change.
  void Set(bool Conditions::*fact, bool value) {
    const base::MutexLock lock(mutex_);
    if (std::exchange(now_.*fact, value) != value) publish_(now_.Serves());
  }

  const std::function<void(bool)> publish_;
  mutable base::Mutex mutex_;
  Conditions now_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
