#include "tests/system/engine/engine_rig.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "common/shm/doorway_wire.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kSide = 32;

posix::Fd Duplicate(int number) {
  posix::Fd borrowed(number);
  posix::Fd copy = borrowed.Duplicate().value();
  borrowed.Release();
  return copy;
}

posix::Mapping MapAll(const posix::Fd& memory, posix::Access access) {
  return posix::Mapping::Map(memory, posix::SizeOf(memory).value(), access).value();
}

template <typename T>
std::vector<T> Numbers(const std::byte* from, size_t count) {
  std::vector<T> numbers(count);
  std::memcpy(numbers.data(), from, count * sizeof(T));
  return numbers;
}

}  // namespace

testing::FakeDataset::Bytes EngineRig::Photograph(uint64_t sample) {
  return testing::MakeJpeg(64, 48, {}, static_cast<uint32_t>(sample));
}

EngineRig::EngineRig(uint32_t workers, exporting::Gpus::MakeCopier copier,
                     std::optional<WorkerDemand::Options> auto_workers) {
  const auto read = [files =
                         files_](uint64_t sample) -> absl::StatusOr<testing::FakeDataset::Bytes> {
    const base::MutexLock lock(files->mutex);
    const auto found = files->changed.find(sample);
    return found == files->changed.end() ? Photograph(sample) : found->second;
  };
  const auto hang = [files = files_](uint64_t sample) {
    if (!files->to_hang.compare_exchange_strong(sample, UINT64_MAX)) return;
    files->hanging = Hanging::kHangs;
    files->hanging.wait(Hanging::kHangs);
    files->hanging = Hanging::kOver;
  };
  dataset_ = std::make_shared<DatasetState>(
      DatasetState{.name = "flowers",
                   .dataset = std::make_shared<testing::FakeDataset>(kSamples, read, hang),
                   .quarantine = {},
                   .policy = FaultPolicy(kSamples)});
  Engine::Options options;
  options.pool.max_bytes = 8 << 20;
  options.pool.segment_bytes = 256 << 10;
  options.gpus.make_copier = std::move(copier);
  options.workers.count = workers;
  options.auto_workers = auto_workers;
  options.retry_for = milliseconds(50);
  options.workers.back_off = {.first = milliseconds(10), .longest = milliseconds(100)};
  engine_ = std::make_unique<Engine>(
      options, [this](uint64_t peer, const void* message, size_t bytes,
                      const std::vector<int>& fds) { return Send(peer, message, bytes, fds); });
  const absl::Status started = engine_->Start();
  EXPECT_TRUE(started.ok()) << started;
}

absl::Status EngineRig::Send(uint64_t peer, const void* message, size_t bytes,
                             const std::vector<int>& fds) {
  if (!send_status.ok()) return send_status;
  shm::DoorwayHeader header;
  std::memcpy(&header, message, sizeof(header));
  if (header.kind == shm::DoorwayKind::kSession) {
    shm::DoorwaySession session;
    std::memcpy(&session, message, bytes);
    consumers_[session.session_id] = std::make_unique<Consumer>(
        MapAll(Duplicate(fds.at(0)), posix::Access::kReadWrite), Duplicate(fds.at(1)));
    peers_[session.session_id] = peer;
  } else if (header.kind != shm::DoorwayKind::kSlab) {
    shm::DoorwaySegment segment;
    std::memcpy(&segment, message, bytes);
    const std::pair key(peer, segment.segment);
    if (header.kind == shm::DoorwayKind::kSegment) {
      segments_[key] = MapAll(Duplicate(fds.at(0)), posix::Access::kReadOnly);
    } else {
      segments_.erase(key);
    }
  }
  return absl::OkStatus();
}

void EngineRig::LetGo() {
  files_->hanging = Hanging::kLetGo;
  files_->hanging.notify_all();
}

void EngineRig::Become(uint64_t sample, absl::StatusOr<testing::FakeDataset::Bytes> bytes) {
  const base::MutexLock lock(files_->mutex);
  files_->changed.insert_or_assign(sample, std::move(bytes));
}

OpenRequest EngineRig::Request(uint64_t peer, uint32_t user) const {
  OpenRequest request;
  request.peer = peer;
  request.user = user;
  request.dataset_name = "flowers";
  request.dataset = dataset_;
  request.feed.decoding.height = request.feed.decoding.width = kSide;
  request.share = {.batch_size = kBatch};
  request.decoding_mode = session::DecodingMode::kIfEncoded;
  request.epochs = 1;
  request.window = 3;
  return request;
}

absl::StatusOr<session::Grant> EngineRig::Ask(const OpenRequest& request) {
  std::optional<absl::StatusOr<session::Grant>> answer;
  engine_->Open(request, base::Now(),
                [&](absl::StatusOr<session::Grant> grant) { answer.emplace(std::move(grant)); });
  EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
  if (answer->ok()) row_bytes_[(*answer)->session] = decode::RowBytes(request.feed.decoding);
  return *std::move(answer);
}

uint64_t EngineRig::Open(const OpenRequest& request) {
  const auto grant = Ask(request);
  EXPECT_TRUE(grant.ok()) << grant.status();
  return grant.ok() ? grant->session : 0;
}

bool EngineRig::RunUntil(const std::function<bool()>& condition) {
  const base::TimePoint deadline = base::Now() + seconds(20);
  base::TimePoint tick = base::Now();
  while (!condition()) {
    if (base::Now() > deadline) return false;
    each_turn();
    if (!engine_->Pump(base::Now())) ::poll(nullptr, 0, 1);
    if (base::Now() < tick) continue;
    engine_->Tick(base::Now());
    tick = base::Now() + milliseconds(20);
  }
  return true;
}

bool EngineRig::RunUntilAnnounced(uint64_t session, uint64_t count) {
  return RunUntil([&] { return consumer(session).announced() >= count; });
}

Copied EngineRig::Copy(uint64_t session, uint64_t sequence) {
  const shm::ControlEntry entry = consumer(session).Entry(sequence);
  const pool::SlotLayout layout = pool::LayOut({row_bytes_.at(session)}, kBatch);
  const auto segment = segments_.find({peers_.at(session), entry.segment});
  if (segment == segments_.end()) {
    ADD_FAILURE() << "batch " << sequence << " is in a segment that was not sent";
    return {};
  }
  const std::byte* slot = segment->second.data() + entry.offset;
  Copied copied{.epoch = entry.epoch, .first = entry.first};
  copied.pixels.assign(slot, slot + entry.rows * layout.blocks.front().row_bytes);
  copied.ids = Numbers<uint64_t>(slot + layout.ids_offset, entry.rows);
  copied.labels = Numbers<int64_t>(slot + layout.labels_offset, entry.rows);
  return copied;
}

std::vector<Copied> EngineRig::TakeAll(uint64_t session) {
  std::vector<Copied> batches;
  Consumer& mine = consumer(session);
  EXPECT_TRUE(RunUntil([&] {
    const bool open = mine.state() == shm::SessionState::kOpen;
    while (batches.size() < mine.announced()) {
      const uint64_t sequence = batches.size() + 1;
      batches.push_back(Copy(session, sequence));
      mine.Take(sequence);
      mine.Release(sequence);
    }
    return !open;
  }));
  return batches;
}

}  // namespace penstock::feed
