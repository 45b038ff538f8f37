// Limits of hosts and Python workers. Those that both processes need are in common/shm.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "common/base/back_off.h"
#include "common/base/clock.h"

namespace penstock::pyworkers {

// How long a trainer has to fork a host before another trainer is asked as well; then, how long the
// forked host has to enter.
inline constexpr base::Duration kHostEntersWithin = std::chrono::seconds(10);
// How long it has if another trainer waits for a batch, and so would answer at once.
inline constexpr base::Duration kBusyTrainerAnswersWithin = std::chrono::milliseconds(500);
// Hosts of a dataset that fail in a row before its feeds fail.
inline constexpr uint32_t kMaxFailedHosts = 3;
// How long a host stays without a session of its dataset, if one wanted it kept.
inline constexpr base::Duration kKeepUnusedHost = std::chrono::seconds(30);

// How long one may take to end once its connection is closed, before it is killed.
inline constexpr base::Duration kDismissedHostEndsWithin = std::chrono::seconds(1);

// Python workers of all hosts together. Those of one host: shm::kMaxPythonWorkers.
inline constexpr uint32_t kMaxPythonWorkersOfDaemon = 1024;

// Workers that may end one after another before they begin a batch, while nobody makes one: so many
// for each worker of the dataset, and as many more. Then its feeds fail.
inline constexpr uint32_t kMaxUselessWorkers = 2;

// The pause before a host is asked for again, or a worker is started again at its place.
inline constexpr base::BackOff::Options kStartAgain = {.first = std::chrono::milliseconds(100),
                                                       .longest = std::chrono::seconds(10)};
// How long a dead worker's place waits for the host to say how the worker ended.
inline constexpr base::Duration kAwaitWords = std::chrono::milliseconds(200);

// Batches that a worker has at once: the one in hand, and the next one.
inline constexpr size_t kMaxInHand = 2;
// A worker has the next one at hand only if its batches take less than this. Otherwise the next one
// waits for whichever worker is free first.
inline constexpr base::Duration kShortBatch = std::chrono::milliseconds(5);
// How long a batch may make no progress if its feed sets no limit.
inline constexpr base::Duration kLongestStandstill = std::chrono::hours(1);
// How often a batch may ask for more room. An honest worker asks once, for all that it needs.
inline constexpr uint32_t kMaxRoomAsked = 4;

}  // namespace penstock::pyworkers
