// A stand-in for penstock-indexer that does what the name of the file that it shall parse says: it
// lies, dies or does nothing.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include "common/posix/memory.h"
#include "common/posix/socket.h"
#include "server/indexer/wire/results.h"
#include "server/indexer/wire/wire.h"

namespace penstock::indexer {
namespace {

// Collects an answer that fits in the window.
class Collected final : public AnswerSink {
 public:
  absl::Status Put(std::span<const std::byte> bytes) override {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return absl::OkStatus();
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Liar {
 public:
  Liar()
      : socket_(kSocketNumber),
        window_(
            posix::Mapping::Map(posix::Fd(kWindowNumber), kSharedBytes, posix::Access::kReadWrite)
                .value()),
        activity_(*new (window_.data() + kWindowBytes) Activity) {}

  int Work() {
    activity_.ready = 1;
    for (;;) {
      const auto message = posix::Receive(socket_, kMostAskBytes, std::chrono::hours(1));
      if (!message.ok()) return 0;
      std::memcpy(&ask_, message->bytes.data(), sizeof ask_);
      const std::string path(reinterpret_cast<const char*>(message->bytes.data()) + sizeof ask_,
                             ask_.text_bytes[0]);
      Answer(path.substr(path.rfind('/') + 1));
    }
  }

 private:
  void Answer(const std::string& what) {
    if (ask_.task == Task::kMore) return;
    if (what == "hang-reading") activity_.reads.reading = 1;
    if (what == "hang" || what == "hang-reading") {
      for (;;) ::pause();
    }
    if (what == "read-the-same") {
      for (;;) activity_.reads.bytes += 4096;
    }
    if (what == "slow") {  // longer than the daemon's patience, but it gets on
      for (int i = 0; i < 70; ++i, ::usleep(50'000)) activity_.reads.bytes += 1;
    }
    if (what == "spin") {
      std::atomic<uint64_t> count{0};
      for (;;) ++count;
    }
    if (what == "abort") std::abort();
    if (what == "segv") {
      ::signal(SIGSEGV, SIG_DFL);  // a sanitizer would report it and exit
      ::raise(SIGSEGV);
    }
    if (what == "forbidden") ::raise(SIGSYS);  // what its sandbox would do to it
    if (what == "exit") ::_exit(7);
    if (what == "talks") {
      for (int i = 0; i < 10'000; ++i) std::fputs("level=error event=forged\033[1m\n", stderr);
      ::_exit(7);
    }
    if (what == "no-memory") ::_exit(kExitNoMemory);
    if (what == "not-ready") ::_exit(kExitNotReady);
    if (what == "long-piece") return Say(Tells::kLastPiece, kWindowBytes + 1);
    if (what == "endless-piece") return Say(Tells::kPiece, std::numeric_limits<uint64_t>::max());
    if (what == "empty-piece") return Say(Tells::kPiece, 0);
    if (what == "unknown-tell") return Say(static_cast<Tells>(99), 1);
    if (what == "found-too-many") return Say(Tells::kFound, uint64_t{1} << 60);
    if (what == "found-nothing") return Say(Tells::kFound, 0);
    if (what == "short-message") return (void)posix::Send(socket_, Bytes("x"), {});
    if (what == "long-message") return (void)posix::Send(socket_, Bytes(std::string(99, 'x')), {});
    if (what == "wants-none") return Want(0, 0);
    if (what == "wants-too-many") return Want(0, kMostBytesSent + 1);
    if (what == "wants-outside") return Want(ask_.bytes - 1, 2);
    if (what == "wants-far-outside") return Want(std::numeric_limits<uint64_t>::max(), 2);
    if (what == "places-outside") return SayWhere(Tells::kPlace, ask_.bytes - 1, 2);
    if (what == "places-far-outside")
      return SayWhere(Tells::kPlace, std::numeric_limits<uint64_t>::max(), 2);
    if (what == "places-nothing") return SayWhere(Tells::kPlace, 0, 0);
    if (what == "places-for-ever") {
      for (uint64_t i = 0; i < ask_.bytes; ++i) SayWhere(Tells::kPlace, 0, 1);
      return;
    }
    if (what == "wants-the-same") {
      for (;;) {
        Want(0, ask_.bytes);
        if (!posix::Receive(socket_, kMostAskBytes, std::chrono::hours(1)).ok()) return;
      }
    }
    if (what == "wrong-number") {
      ++ask_.number;
      return Say(Tells::kLastPiece, 0);
    }
    if (what == "descriptors") {
      const int fds[] = {2, 2, 2};
      const Tell tell = {.what = Tells::kLastPiece, .number = ask_.number + 1};
      return (void)posix::Send(socket_, std::as_bytes(std::span(&tell, 1)), fds);
    }
    Collected answer;
    Compose(what, answer);
    std::memcpy(window_.data(), answer.bytes().data(), answer.bytes().size());
    Say(Tells::kLastPiece, answer.bytes().size());
  }

  void Compose(const std::string& what, Collected& answer) {
    if (what == "nothing") return;
    if (what == "unknown-outcome") {
      (void)PutRecord(answer, uint32_t{99});
      return (void)PutText(answer, "");
    }
    if (what == "long-text") {
      (void)PutRecord(answer, uint32_t{3});
      return (void)PutRecord(answer, uint32_t{1} << 31);
    }
    if (what == "rude-text")
      return (void)PutOutcome(answer, absl::InvalidArgumentError("\x1b[2J\xff\n"));
    (void)PutOutcome(answer, absl::OkStatus());
    if (what == "less") return;
    if (ask_.task == Task::kTarKey) (void)PutText(answer, "key");
    if (what == "more") (void)PutText(answer, "key");
    if (what == "claims") {  // as many samples as the file can hold; none of them comes
      const uint64_t head[8] = {ask_.bytes / 16};
      for (const uint64_t number : head) (void)PutRecord(answer, number);
      (void)PutText(answer, "");
      return (void)PutText(answer, "");
    }
    if (ask_.task != Task::kScanTar) return;
    source::ScannedShard scanned;
    scanned.samples = {{.place = 0}};
    scanned.extensions = {{.name = "jpg", .kind = 1}};
    scanned.members = {{.block = what == "outside" ? 1000u : 1u, .bytes = 1}};
    (void)PutScanned(answer, scanned);
  }

  void Say(Tells what, uint64_t count) {
    const Tell tell = {.what = what, .number = ask_.number, .count = count};
    (void)posix::Send(socket_, std::as_bytes(std::span(&tell, 1)), {});
  }

  void Want(uint64_t offset, uint64_t count) { SayWhere(Tells::kWants, offset, count); }

  void SayWhere(Tells what, uint64_t offset, uint64_t count) {
    const Tell tell = {.what = what, .number = ask_.number, .count = count, .offset = offset};
    (void)posix::Send(socket_, std::as_bytes(std::span(&tell, 1)), {});
  }

  static std::span<const std::byte> Bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
  }

  posix::Fd socket_;
  posix::Mapping window_;
  Activity& activity_;
  Ask ask_;
};

}  // namespace
}  // namespace penstock::indexer

int main() { return penstock::indexer::Liar().Work(); }
