// The worker's side of a channel, which may write what it likes.
#pragma once

#include <cstdint>
#include <optional>

#include "common/posix/memory.h"
#include "common/shm/python_channel.h"
#include "server/pyworkers/channel_endpoint.h"

namespace penstock::pyworkers {

struct FakeAnswer {
  uint64_t sequence = 0;
  shm::MakeOutcome outcome = shm::MakeOutcome::kDone;
  uint32_t row = 0;
  uint64_t bytes = 1;
};

class FakeWorker {
 public:
  explicit FakeWorker(const posix::Fd& memory)
      : mapping_(*posix::Mapping::Map(memory, ChannelEndpoint::kBytes, posix::Access::kReadWrite)),
        requests_(page().requests),
        answers_(page().answers) {}

  shm::PythonChannel& page() { return *reinterpret_cast<shm::PythonChannel*>(mapping_.data()); }

  // Takes the next request and says that it is in hand.
  std::optional<shm::MakeRequest> Take() {
    shm::MakeRequest request;
    if (requests_.Pop(request) != shm::RingOutcome::kDone) return std::nullopt;
    page().started = request.sequence;
    ReachRow(request.sequence, 0);
    return request;
  }
  void ReachRow(uint64_t sequence, uint32_t row) { page().row = shm::PackRow(sequence, row); }
  bool Answer(const FakeAnswer& fake) {
    shm::MakeAnswer answer = {};
    answer.sequence = fake.sequence;
    answer.outcome = fake.outcome;
    answer.row = fake.row;
    answer.bytes = fake.bytes;
    return answers_.Push(answer) == shm::RingOutcome::kDone;
  }
  bool Done(uint64_t sequence, uint64_t bytes) {
    return Answer({.sequence = sequence, .bytes = bytes});
  }
  bool NeedsRoom(uint64_t sequence, uint64_t bytes) {
    return Answer({.sequence = sequence, .outcome = shm::MakeOutcome::kNeedsRoom, .bytes = bytes});
  }

 private:
  posix::Mapping mapping_;
  shm::RingConsumer<shm::MakeRequest, shm::kPythonRingCapacity> requests_;
  shm::RingProducer<shm::MakeAnswer, shm::kPythonRingCapacity> answers_;
};

}  // namespace penstock::pyworkers
