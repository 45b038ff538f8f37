// penstock-test-hostile-worker: replaces penstock-worker and acts like one that foreign code has
// taken over. PENSTOCK_TEST_HOSTILE is KIND:USER:SEED; for every other user it executes
// penstock-worker. It maps everything that it was given, never decodes, and behaves as KIND says,
// from its first request on, because foreign code comes in with a sample:
//   phantom    answers requests that were never made
//   twice      answers everything twice
//   faults     reports faults that no decoder finds
//   counters   sets its rings' counters to random values
//   scribble   writes random values everywhere, and answers honestly
//   random     writes random values everywhere, including its counters and flags
//   liar       reports every row as written, immediately, with impossible times
//   silent     takes requests and never answers
//   ringing    notifies the daemon continuously and never answers
//   clinging   takes requests, and dies with each one in hand
//   never      is never ready
//   disorder   answers the newest request first
//   foreign    answers with other sequence numbers
//   deaf       never looks at its channel
//   talking    writes lines like the daemon's to standard error, and answers honestly
//   early      is ready before it has mapped anything
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "common/posix/memory.h"
#include "common/posix/socket.h"
#include "server/workers/queue/channel.h"

namespace {

namespace base = penstock::base;
namespace posix = penstock::posix;
namespace shm = penstock::shm;
namespace workers = penstock::workers;

struct Part {
  std::string kind;
  unsigned user = 0;
  uint64_t seed = 0;
};

Part PartFromEnvironment() {
  Part part;
  const char* text = std::getenv("PENSTOCK_TEST_HOSTILE");
  std::istringstream words(text == nullptr ? "" : text);
  std::string user, seed;
  std::getline(words, part.kind, ':');
  std::getline(words, user, ':');
  std::getline(words, seed, ':');
  part.user = static_cast<unsigned>(std::atoi(user.c_str()));
  part.seed = std::strtoull(seed.c_str(), nullptr, 10);
  return part;
}

[[noreturn]] void BecomeHonest(char** argv) {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0) _exit(3);
  const std::string self(path);
  const std::string honest = self.substr(0, self.rfind('/')) + "/penstock-worker";
  execv(honest.c_str(), argv);
  _exit(3);
}

class Worker {
 public:
  explicit Worker(const Part& part)
      : kind_(part.kind), random_(part.seed ^ static_cast<uint64_t>(getpid())) {
    const posix::Fd memory(workers::kChannelNumber);
    if (kind_ == "early") SayReadyThrough(memory);
    map_ = posix::Mapping::Map(memory, *posix::SizeOf(memory), posix::Access::kReadWrite).value();
    channel_ = reinterpret_cast<workers::Channel*>(map_.data());
    requests_.emplace(channel_->requests);
    // Makes the descriptors that it shares with the daemon blocking.
    for (const int fd : {workers::kSocketNumber, workers::kWorkNumber, workers::kDoneNumber})
      fcntl(fd, F_SETFL, 0);
  }

  [[noreturn]] void Run() {
    if (kind_ != "never") channel_->ready.store(1 + Pick(3));
    for (;;) {
      if (Pick(64) == 0) TakeSegments();
      if (IsTakenOver()) Misbehave();
      if (kind_ == "ringing" && IsTakenOver())
        Ring();
      else
        usleep(kind_ == "deaf" || kind_ == "never" ? 10'000 : 200);
      pollfd socket = {.fd = workers::kSocketNumber, .events = 0, .revents = 0};
      if (poll(&socket, 1, 0) == 1 && (socket.revents & POLLHUP) != 0) _exit(0);
    }
  }

 private:
  uint64_t Pick(uint64_t limit) { return random_() % limit; }
  // Remembered, because it may overwrite the counter.
  bool IsTakenOver() {
    taken_over_ = taken_over_ || channel_->requests.pushed.load() > 0;
    return taken_over_;
  }

  static void SayReadyThrough(const posix::Fd& memory) {
    const uint32_t one = 1;
    (void)!pwrite(memory.get(), &one, sizeof(one), offsetof(workers::Channel, ready));
  }

  void TakeSegments() {
    for (;;) {
      const posix::Fd socket(fcntl(workers::kSocketNumber, F_DUPFD_CLOEXEC, 0));
      auto message = posix::Receive(socket, sizeof(workers::SegmentMessage), base::Duration(0));
      if (!message.ok() || message->fds.empty()) return;
      auto size = posix::SizeOf(message->fds[0]);
      auto mapping = posix::Mapping::Map(message->fds[0], *size, posix::Access::kReadWrite);
      if (mapping.ok()) segments_.push_back(*std::move(mapping));
    }
  }

  std::optional<uint64_t> Take() {
    workers::DecodeRequest request;
    if (requests_->Pop(request) != shm::RingOutcome::kDone) return std::nullopt;
    channel_->started.store(request.sequence);
    return request.sequence;
  }

  void Answer(uint64_t sequence, base::Fault fault = base::Fault::kNone) {
    auto& ring = channel_->completions;
    const uint64_t at = ring.pushed.load();
    ring.entries[at % workers::kRingCapacity] = {.sequence = sequence,
                                                 .fault = fault,
                                                 .decode_us = static_cast<uint32_t>(random_()),
                                                 .ended_ns = random_()};
    ring.pushed.store(at + 1);
    channel_->busy_ns.store(random_());
    Ring();
  }

  static void Say(const std::string& line) {
    (void)!write(STDERR_FILENO, line.data(), line.size());
  }

  static void Ring() {
    const uint64_t one = 1;
    (void)!write(workers::kDoneNumber, &one, sizeof(one));
  }

  void Scribble(std::span<std::byte> bytes) {
    for (int i = 0; i < 200; ++i) {
      const uint64_t value = Pick(3) == 0 ? UINT64_MAX : random_();
      std::memcpy(bytes.data() + Pick(bytes.size() - sizeof(value)), &value, sizeof(value));
    }
  }

  void Misbehave() {
    if (kind_ == "talking")
      for (int i = 0; i < 100; ++i) Say("level=info event=forged user=0\n");
    if (kind_ == "phantom") return Answer(1 + Pick(5));
    if (kind_ == "counters") {
      channel_->completions.pushed.store(random_());
      channel_->requests.popped.store(random_());
      channel_->started.store(UINT64_MAX);
      return Ring();
    }
    if (kind_ == "scribble" || kind_ == "random") {
      const std::span<std::byte> all(map_.data(), map_.size());
      Scribble(all.subspan(workers::kArenaOffset));
      if (kind_ == "random") Scribble(all.first(sizeof(workers::Channel)));
      for (posix::Mapping& segment : segments_) Scribble({segment.data(), segment.size()});
    }
    if (kind_ == "deaf" || kind_ == "never") return;
    const auto sequence = Take();
    if (!sequence) return;
    if (kind_ == "clinging") abort();
    if (kind_ == "silent" || kind_ == "ringing") return;
    if (kind_ == "foreign") return Answer(*sequence + 1 + Pick(1000));
    if (kind_ == "faults") return Answer(*sequence, static_cast<base::Fault>(100 + Pick(1000)));
    if (kind_ == "disorder")
      if (const auto second = Take()) Answer(*second);
    Answer(*sequence);
    if (kind_ == "twice") Answer(*sequence);
  }

  const std::string kind_;
  bool taken_over_ = false;
  std::mt19937_64 random_;
  posix::Mapping map_;
  workers::Channel* channel_ = nullptr;
  std::optional<shm::RingConsumer<workers::DecodeRequest, workers::kRingCapacity>> requests_;
  std::vector<posix::Mapping> segments_;
};

}  // namespace

int main(int argc, char** argv) {
  const Part part = PartFromEnvironment();
  const std::string mine = "user=" + std::to_string(part.user);
  if (argc < 2 || argv[1] != mine) BecomeHonest(argv);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Worker(part).Run();
}
