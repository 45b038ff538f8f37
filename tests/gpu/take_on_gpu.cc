#include <thread>
#include <utility>

#include "tests/gpu/delivery.h"
#include "tests/system/failpoints/take_batch.h"

namespace penstock::testing {

SessionOptions ForTakeBatch(SessionOptions options) { return gpu::On({}, std::move(options)); }

Status TakeBatch(Session& session, Delivered& delivered, std::chrono::milliseconds step) {
  const gpu::Desk desk(session);
  const Status status = gpu::TakeOnGpu(session, desk, desk.stream(), 1, delivered);
  if (status.ok()) std::this_thread::sleep_for(step);
  return status;
}

}  // namespace penstock::testing
