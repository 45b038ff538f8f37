// Arbitrary bytes as the beginning of a worker's channel: whatever requests they contain, the
// worker reads and writes only within its own memory. Two bytes choose a segment and whether the
// header is sound; the rest is the channel.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"
#include "server/workers/program/segment_table.h"
#include "server/workers/program/worker_endpoint.h"

namespace base = penstock::base;
namespace posix = penstock::posix;
namespace workers = penstock::workers;

namespace {

constexpr uint64_t kArena = 4096, kSegment = 8192;
constexpr int kAbove = 100;  // descriptor numbers that a worker doesn't inherit

void Inherit(const posix::Fd& fd, int number) {
  PENSTOCK_CHECK(::dup2(fd.get(), number) == number);
}
posix::Fd Above(posix::Fd fd) { return posix::Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kAbove)); }

// Everything that a daemon and a worker share, with both ends.
struct Shared {
  posix::Fd channel = Above(posix::MakeMemory("channel", workers::kArenaOffset + kArena).value());
  posix::Mapping memory =
      posix::Mapping::Map(channel, workers::kArenaOffset + kArena, posix::Access::kReadWrite)
          .value();
  posix::Fd segment = Above(posix::MakeMemory("segment", kSegment).value());
  posix::Fd done = Above(posix::MakeEvent().value());
  posix::Fd ours, theirs;

  Shared() {
    int ends[2];
    PENSTOCK_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    ours = Above(posix::Fd(ends[0]));
    theirs = Above(posix::Fd(ends[1]));
  }

  void Fill(std::span<const uint8_t> bytes, bool sound_header) {
    std::memset(memory.data(), 0, workers::kArenaOffset);
    std::memcpy(memory.data(), bytes.data(), std::min(bytes.size(), workers::kArenaOffset));
    if (!sound_header) return;
    auto* channel = reinterpret_cast<workers::Channel*>(memory.data());
    channel->magic = workers::kChannelMagic;
    channel->version = workers::kChannelVersion;
    channel->arena_bytes = kArena;
  }
};

// Replaces the spec by a valid one, because the daemon validates specs before it opens a session.
workers::DecodeRequest WithSoundSpec(workers::DecodeRequest request) {
  request.spec = {};
  request.spec.height = request.spec.width = 32;
  request.more_images = 0;  // whose specs are in the input
  return request;
}

void Serve(workers::WorkerEndpoint& end, workers::SegmentTable& segments,
           std::span<const std::byte> channel) {
  static workers::RequestServer server(penstock::decode::SampleLimits{.max_bytes = kArena});
  for (int i = 0; i < 64; ++i) {
    const auto next = end.Next();
    if (!next.ok() || !next->has_value()) return;
    const workers::DecodeRequest request = WithSoundSpec(**next);
    const auto input = end.Input(request);
    if (input.ok())
      PENSTOCK_CHECK(input->size() <= kArena &&
                     input->data() + input->size() <= channel.data() + kArena);
    const auto segment = segments.Find(request.segment);
    end.Begin(request);
    workers::RequestServer::Served served;
    if (input.ok() && segment.ok())
      served = server.Serve(request, *input, *segment).value_or(served);
    if (!end.Finish(request, served, {}).ok()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static Shared shared;
  const uint32_t segment = data[0] % 4;
  shared.Fill({data + 2, size - 2}, data[1] % 8 != 0);
  Inherit(shared.channel, workers::kChannelNumber);
  Inherit(shared.done, workers::kWorkNumber);
  Inherit(shared.done, workers::kDoneNumber);
  auto end = workers::WorkerEndpoint::Open();
  if (!end.ok()) {
    for (const int number : {workers::kWorkNumber, workers::kDoneNumber}) ::close(number);
    return 0;
  }
  const workers::SegmentMessage use = {.verb = workers::SegmentVerb::kUse,
                                       .segment = segment,
                                       .bytes = data[1] % 16 < 12 ? kSegment : size * 100};
  const int fd = shared.segment.get();
  PENSTOCK_CHECK(posix::Send(shared.ours, std::as_bytes(std::span(&use, 1)), {&fd, 1}).ok());
  workers::SegmentTable segments(shared.theirs.Duplicate().value());
  segments.Receive().IgnoreError();
  // The endpoint has its own mapping. This request covers the whole input, which shows its address.
  workers::DecodeRequest whole{};
  whole.input_bytes = kArena;
  Serve(*end, segments, end->Input(whole).value());
  posix::Drain(shared.done);
  return 0;
}
