#include "common/posix/loose_threads.h"

#include <system_error>
#include <utility>

namespace penstock::posix {

void LooseThreads::JoinAll() {
  for (Thread& each : threads_) each.thread.join();
  threads_.clear();
}

std::optional<LooseThreads::Thread> LooseThreads::Start(std::function<void()> run) {
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  try {
    return Thread{.thread = std::thread([run = std::move(run), ended]() mutable {
                    run();
                    run = nullptr;  // destroy what it owns before it can be joined
                    ended->store(true, std::memory_order_release);
                  }),
                  .ended = ended};
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

void LooseThreads::Sweep() {
  for (auto each = threads_.begin(); each != threads_.end();) {
    if (each->ended->load(std::memory_order_acquire)) {
      each->thread.join();
      each = threads_.erase(each);
    } else {
      ++each;
    }
  }
}

}  // namespace penstock::posix
