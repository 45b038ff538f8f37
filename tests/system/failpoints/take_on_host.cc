#include "tests/system/failpoints/take_batch.h"

namespace penstock::testing {

SessionOptions ForTakeBatch(SessionOptions options) { return options; }

Status TakeBatch(Session& session, Delivered& delivered, std::chrono::milliseconds step) {
  return TakeBatches(session, 1, delivered, step);
}

}  // namespace penstock::testing
