#include "server/feed/engine/runner.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include <cerrno>
#include <future>
#include <utility>

#include "common/base/check.h"

namespace penstock::feed {
namespace {

constexpr size_t kMaxJobs = 4096;
constexpr std::chrono::milliseconds kTick(100);

}  // namespace

absl::StatusOr<std::unique_ptr<Runner>> Runner::Start(Engine::Options options, SendToPeer send) {
  posix::Fd poll(epoll_create1(EPOLL_CLOEXEC));
  if (!poll.valid()) return base::ErrnoStatus(errno, "epoll_create1");
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd event, posix::MakeEvent());
  std::unique_ptr<Runner> runner(
      new Runner(std::move(options), std::move(send), std::move(poll), std::move(event)));
  runner->Watch(runner->mailbox_.event().get(), true);

  // Workers are started from the runner's thread, because the kernel kills them when the thread
  // that started them ends; the runner's thread lives as long as they do.
  std::promise<absl::Status> started;
  std::future<absl::Status> status = started.get_future();
  runner->thread_ = std::thread([r = runner.get(), started = std::move(started)]() mutable {
    pthread_setname_np(pthread_self(), "runner");
    const absl::Status result = r->engine_.Start();
    if (result.ok()) r->engine_.WatchWith([r](int fd, bool watch) { r->Watch(fd, watch); });
    started.set_value(result);
    if (result.ok()) r->Run();
  });
  PENSTOCK_RETURN_IF_ERROR(status.get());
  return runner;
}

Runner::Runner(Engine::Options options, SendToPeer send, posix::Fd poll, posix::Fd event)
    : poll_(std::move(poll)),
      mailbox_(std::move(event), kMaxJobs),
      engine_(std::move(options), std::move(send)) {}

Runner::~Runner() { Close(); }

void Runner::Close() {
  stopping_.store(true);
  mailbox_.Close();
  posix::NotifyEvent(mailbox_.event());
  if (thread_.joinable()) thread_.join();
}

bool Runner::Post(std::function<void(Engine&, base::TimePoint)> job) {
  return mailbox_.Post([this, job = std::move(job)] { job(engine_, clock_.Now()); });
}

void Runner::Deliver(std::function<void(Engine&, base::TimePoint)> job) {
  mailbox_.Deliver([this, job = std::move(job)] { job(engine_, clock_.Now()); });
}

void Runner::Watch(int fd, bool watch) {
  // Edge-triggered: each notification ends one sleep, after which everything is checked. So nothing
  // is read from descriptors that a consumer also has, which could block.
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLET;
  const int done = epoll_ctl(poll_.get(), watch ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event);
  // The system may be out of space for another. Then the ticks check it, ten times a second, and
  // its removal goes unnoticed here.
  PENSTOCK_CHECK(done == 0 || watch || errno == ENOENT);
}

void Runner::Run() {
  base::TimePoint next_tick = clock_.Now();
  while (!stopping_.load()) {
    passes_.fetch_add(1, std::memory_order_relaxed);
    for (const Mailbox::Job& job : mailbox_.Take()) job();
    sessions_.store(engine_.sessions(), std::memory_order_relaxed);
    const base::TimePoint now = clock_.Now();
    if (now >= next_tick) {
      Tick(now);
      next_tick = now + kTick;
    }
    if (engine_.Pump(now)) {
      back_off_.Reset();
      continue;
    }

    // From here on, others see that we sleep and notify us. One more pass handles what came before.
    engine_.SetAsleep(true);
    if (engine_.Pump(clock_.Now())) {
      back_off_.Reset();
    } else {
      Sleep(engine_.MustBePolled() ? back_off_.Next() : base::Duration(kTick));
    }
    engine_.SetAsleep(false);
  }
  for (const Mailbox::Job& job : mailbox_.Take()) job();
  engine_.CloseAll();
}

void Runner::Tick(base::TimePoint now) {
  engine_.Tick(now);
  Vitals vitals = engine_.views().GetVitals();
  vitals.ticked = now;
  base::MutexLock lock(mutex_);
  vitals_ = vitals;
  if (status_.ok()) status_ = engine_.status();
}

Vitals Runner::vitals() const {
  base::MutexLock lock(mutex_);
  Vitals vitals = vitals_;
  vitals.passes = passes_.load(std::memory_order_relaxed);
  return vitals;
}

// epoll_wait counts in milliseconds, which is too coarse for the first waits.
void Runner::Sleep(base::Duration longest) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec timeout = {.tv_sec = seconds.count(), .tv_nsec = (longest - seconds).count()};
  pollfd ready = {.fd = poll_.get(), .events = POLLIN, .revents = 0};
  if (ppoll(&ready, 1, &timeout, nullptr) <= 0) return;

  constexpr int kMaxEvents = 64;  // further events end the next sleep
  epoll_event events[kMaxEvents];
  epoll_wait(poll_.get(), events, kMaxEvents, 0);
}

}  // namespace penstock::feed
