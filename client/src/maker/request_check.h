// Whether what the daemon wrote into a worker's channel can be true. Everything is copied before it
// is checked. Pure.
#pragma once

#include <cstdint>

#include "client/src/maker/worker.h"
#include "common/base/status.h"
#include "common/shm/python_channel.h"

namespace penstock::client {

// **Errors**: FailedPrecondition for a channel of another version; Internal if it is for another
// worker.
absl::Status CheckChannel(const shm::PythonChannel& channel, PlaceStart at);

// **Errors**: Internal unless it is a kMake whose sequence is the one after `last`.
absl::Status CheckOrder(const shm::MakeRequest& request, uint64_t last);

// **Errors**: Internal if the ids or the room that the request names are not in a segment of so
// many bytes, overlap, or are not aligned.
absl::Status CheckBatch(const shm::MakeRequest& request, uint64_t segment_bytes);

// **Errors**: Internal unless the room is for this batch, no less than before, and at most `most`.
absl::Status CheckRoom(const shm::MakeRequest& room, const shm::MakeRequest& batch);

// The errors of a batch that needs more than the feed allows, or than the daemon has.
absl::Status TooLarge(const shm::MakeRequest& batch, uint64_t needed);
absl::Status NoRoom(const shm::MakeRequest& batch, uint64_t needed);

}  // namespace penstock::client
