#include "common/posix/foreign_fd.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id  // newer than Debian 12's headers
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace penstock::posix {
namespace {

constexpr timespec kEvery = {.tv_sec = 0, .tv_nsec = 20'000};

int Signal() { return SIGRTMIN + 4; }

// Between Run and Rest, signals its thread again and again. One signal is not enough: if it arrived
// before the wait begins, it would not end the wait.
class Interrupter {
 public:
  Interrupter() {
    static const bool handled = [] {
      struct sigaction action = {};
      action.sa_handler = [](int) {};
      action.sa_flags = SA_RESTART;  // other system calls continue
      return ::sigaction(Signal(), &action, nullptr) == 0;
    }();
    if (!handled) return;
    sigset_t ours;
    ::sigemptyset(&ours);
    ::sigaddset(&ours, Signal());
    ::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = Signal();
    event.sigev_notify_thread_id = ::gettid();
    made_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  }
  ~Interrupter() {
    if (made_) ::timer_delete(timer_);
  }
  void Run() { Set({.it_interval = kEvery, .it_value = kEvery}); }
  void Rest() { Set({}); }

 private:
  void Set(const itimerspec& when) {
    if (made_) ::timer_settime(timer_, 0, &when, nullptr);
  }
  timer_t timer_ = {};
  bool made_ = false;
};

Interrupter& OfThisThread() {
  thread_local Interrupter interrupter;
  return interrupter;
}

}  // namespace

LingerLimit::LingerLimit() { OfThisThread().Run(); }
LingerLimit::~LingerLimit() { OfThisThread().Rest(); }

void CloseForeign::operator()(const Fd* fd) const {
  const LingerLimit limit;
  delete fd;
}

}  // namespace penstock::posix
