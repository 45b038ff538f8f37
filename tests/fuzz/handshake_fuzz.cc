// Arbitrary bytes as a client's first message at the doorway: the daemon accepts only sound
// handshakes, and refuses all others with a code and a reason.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "common/shm/protocol.h"
#include "common/shm/python_host.h"
#include "server/doorway/handshake.h"

namespace doorway = penstock::doorway;
namespace shm = penstock::shm;

namespace {

size_t SizeFor(doorway::Role role) {
  switch (role) {
    case doorway::Role::kClient:
      return sizeof(shm::DoorwayHandshake);
    case doorway::Role::kHost:
      return sizeof(shm::DoorwayHost);
    case doorway::Role::kWorker:
      return sizeof(shm::DoorwayWorker);
  }
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto read = doorway::ReadHandshake({bytes.begin(), bytes.end()});
  if (!read.ok()) {
    const shm::DoorwayRefused refused = doorway::RefusedFor(read.status());
    PENSTOCK_CHECK(refused.code != 0 && refused.reason[0] != '\0');
    PENSTOCK_CHECK(::strnlen(refused.reason, sizeof(refused.reason)) < sizeof(refused.reason));
    return 0;
  }
  PENSTOCK_CHECK(size == SizeFor(read->role));
  PENSTOCK_CHECK(read->role != doorway::Role::kClient || read->maker == doorway::MakerClaim());
  PENSTOCK_CHECK(read->maker.place < shm::kMaxPythonWorkers);
  PENSTOCK_CHECK((read->maker.start > 0) == (read->role == doorway::Role::kWorker));
  PENSTOCK_CHECK(shm::kServed.Has(read->version) && read->client.size() <= 64);
  PENSTOCK_CHECK(std::all_of(read->client.begin(), read->client.end(),
                             [](char c) { return c >= ' ' && c <= '~'; }));
  PENSTOCK_CHECK(doorway::WelcomeWith({}, read->version).header.version == read->version);
  return 0;
}
