// A virtual clock, what is still to happen, and what happened last. Everything random comes from
// one seed, so a run can be repeated.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

namespace penstock::simulation {

using base::Duration;
using base::TimePoint;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// An invariant does not hold.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Words>
void Require(bool holds, const Words&... words) {
  if (!holds) throw Violation(absl::StrCat(words...));
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Word() { return engine_(); }
  uint64_t Below(uint64_t limit) { return engine_() % limit; }
  uint64_t Between(uint64_t least, uint64_t most) { return least + Below(most - least + 1); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  Duration Between(Duration least, Duration most) {
    return least + Duration(Below(static_cast<uint64_t>((most - least).count()) + 1));
  }
  // Exponentially distributed.
  Duration About(Duration mean) {
    const double unit = static_cast<double>(Below(1u << 30) + 1) / static_cast<double>(1u << 30);
    return Duration(static_cast<int64_t>(-std::log(unit) * static_cast<double>(mean.count())));
  }

 private:
  std::mt19937_64 engine_;
};

// Something that will happen; what `id` and `detail` mean depends on the kind.
enum class EventKind : uint8_t {
  kPump,       // the runner makes a pass
  kTick,       // ten times a second
  kReady,      // a worker has started
  kRead,       // a sample has been read
  kDecoded,    // a row has been decoded
  kExit,       // a worker that was killed is gone
  kTrainer,    // a trainer looks for a batch
  kRelease,    // a trainer releases a batch
  kOpen,       // a trainer asks for a session
  kFault,      // something fails
  kDeath,      // a trainer dies
  kMaker,      // a Python worker goes on
  kHost,       // a host enters, or should have
  kStart,      // a daemon starts
  kDrainEnds,  // an operator cancels a drain
  kRepair,     // an operator repairs a dataset and clears its quarantine
};

struct Event {
  TimePoint at{};
  uint64_t tie = 0;  // random, so that events at one moment happen in any order
  EventKind kind = EventKind::kTick;
  uint64_t id = 0;
  uint64_t detail = 0;
};

class Events {
 public:
  explicit Events(Random& random) : random_(random) {}

  TimePoint now() const { return now_; }
  void After(Duration delay, EventKind kind, uint64_t id = 0, uint64_t detail = 0) {
    queue_.push({now_ + delay, random_.Word(), kind, id, detail});
  }
  bool empty() const { return queue_.empty(); }
  // The clock never goes back: after a jump, what was due happens now.
  Event Next() {
    const Event event = queue_.top();
    queue_.pop();
    now_ = std::max(now_, event.at);
    return event;
  }
  void Jump(Duration by) { now_ += by; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.at != b.at ? a.at > b.at : a.tie > b.tie;
    }
  };
  Random& random_;
  TimePoint now_{};
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
};

// The last things that happened, for the report of a failure. Cheap to write.
class History {
 public:
  void Note(TimePoint at, const char* what, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) {
    lines_[count_++ % lines_.size()] = {at, what, a, b, c};
    digest_ = (digest_ ^ (a + 31 * b + 977 * c + static_cast<uint64_t>(what[0]) +
                          static_cast<uint64_t>(at.time_since_epoch().count()))) *
              0x100000001b3;
  }
  uint64_t digest() const { return digest_; }  // equal for equal histories
  std::string Text() const {
    std::string text;
    for (uint64_t i = count_ - std::min<uint64_t>(count_, lines_.size()); i < count_; ++i) {
      const Line& line = lines_[i % lines_.size()];
      const double at = static_cast<double>(line.at.time_since_epoch().count()) / 1e9;
      absl::StrAppend(&text, "  ", at, " s: ", line.what, " ", line.a, " ", line.b, " ", line.c,
                      "\n");
    }
    return text;
  }

 private:
  struct Line {
    TimePoint at{};
    const char* what = "";
    uint64_t a = 0, b = 0, c = 0;
  };
  std::array<Line, 60> lines_;
  uint64_t count_ = 0, digest_ = 0xcbf29ce484222325;
};

// What all parts of a simulation use.
struct Stage {
  explicit Stage(uint64_t seed) : random(seed), events(random) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  TimePoint now() const { return events.now(); }
  void Note(const char* what, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) {
    history.Note(now(), what, a, b, c);
  }

  Random random;
  Events events;
  History history;
  uint64_t next_id = 1;  // of anything; never used twice
};

}  // namespace penstock::simulation
