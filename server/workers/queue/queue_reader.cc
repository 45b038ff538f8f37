// The reader threads' side of queue_reads.h.
#include <chrono>
#include <iterator>
#include <utility>

#include "server/workers/queue/queue_reads.h"

namespace penstock::workers {

void QueueReads::Serve(uint64_t place) {
  while (const std::optional<ReadPlace> read = NextRead(place)) Bring(*read);
}

void QueueReads::ReadAside(const WorkItem& item) {
  ReadPlace read;
  {
    const base::MutexLock lock(mutex_);
    read = reads_.begin();
    while (read->item.id != item.id) ++read;  // Expect added it
  }
  Bring(read);
}

std::optional<QueueReads::ReadPlace> QueueReads::NextRead(uint64_t place) {
  for (;;) {
    KeepImages();
    const base::MutexLock lock(mutex_);
    // Give, Stop, Collect and GiveInboxTo notify. A replacement starts before the inbox is assigned
    // to it.
    while (!stopping_ &&
           (place > place_ || (place == place_ && inbox_.empty() && images_.empty()))) {
      AnnounceSent();
      changed_.Wait(mutex_);
    }
    if (stopping_ || place < place_) return std::nullopt;
    if (inbox_.empty()) continue;
    const base::TimePoint now = base::Now();
    reads_.push_back({.item = inbox_.front(),
                      .endpoint = attached_,
                      .begun = now,
                      .waits_for_source = now,
                      .offset = {}});
    inbox_.pop_front();
    return std::prev(reads_.end());
  }
}

std::optional<QueueReads::ImageToKeep> QueueReads::TakeImage() {
  const base::MutexLock lock(mutex_);
  if (stopping_ || images_.empty()) return std::nullopt;
  ImageToKeep image = std::move(images_.front());
  images_.pop_front();
  return image;
}

// The worker, which may be another by now, does not write there any more.
void QueueReads::KeepImages() {
  while (const std::optional<ImageToKeep> image = TakeImage()) {
    image->shelf->Put(image->sample,
                      image->endpoint->Input(image->image.offset, image->image.bytes),
                      image->decode);
    {
      const base::MutexLock lock(mutex_);
      image->endpoint->arena().Free(image->region);
    }
    changed_.NotifyAll();
  }
}

void QueueReads::Bring(ReadPlace read) {
  absl::StatusOr<Fetched> fetched = Fetch(read);
  if (fetched.ok()) return Deliver(read, *fetched);
  End(read, {.kind = OutcomeKind::kSourceFailed}, std::move(fetched).status());
}

// When this returns, no Reader of the dataset exists, so the dataset may be destroyed with the
// item's outcome.
absl::StatusOr<QueueReads::Fetched> QueueReads::Fetch(ReadPlace read) {
  // The item is constant, as is the endpoint.
  ItemReader reader(read->item, {.max_image_bytes = options_.limits.max_bytes,
                                 .arena_bytes = read->endpoint->arena_bytes()});
  PENSTOCK_ASSIGN_OR_RETURN(const ItemReader::Input input, reader.Open());
  if (input.fault != base::Fault::kNone)
    return Fetched{.kind = OutcomeKind::kRefused, .fault = input.fault, .input = input};
  const std::optional<ArenaSpace> headroom = WaitForArena(read, input.bytes);
  if (!headroom) return Fetched{.kind = OutcomeKind::kLost};
  const absl::StatusOr<bool> is_there =
      reader.Read(read->endpoint->Input(headroom->offset, input.bytes));
  if (!is_there.ok() || !*is_there) DropInput(read);
  PENSTOCK_RETURN_IF_ERROR(is_there.status());
  if (!*is_there) return Fetched{.kind = OutcomeKind::kLost};
  return Fetched{.offset = headroom->offset,
                 .input = input,
                 .checkpoint_bytes = reader.checkpoint_bytes(),
                 .held_up = headroom->held_up};
}

// Nullopt if the worker is gone, or must be replaced because blocked reads leave no room.
std::optional<QueueReads::ArenaSpace> QueueReads::WaitForArena(ReadPlace read, uint64_t bytes) {
  std::optional<base::TimePoint> held_up_since;
  for (;;) {
    KeepImages();  // whose regions nobody else frees
    const base::MutexLock lock(mutex_);
    if (!IsCurrent(*read)) return std::nullopt;
    InputArena& arena = read->endpoint->arena();
    if (const auto offset = arena.Allocate(bytes)) {
      const base::TimePoint now = base::Now();
      read->waits_for_source = now;
      read->offset = *offset;
      if (read->aside) arena.LeaveBehind(*offset);
      return ArenaSpace{.offset = *offset, .held_up = now - held_up_since.value_or(now)};
    }
    if (!held_up_since) held_up_since = base::Now();
    read->waits_for_source.reset();  // the worker is slow, which has its own time-out
    if (!read->aside && !arena.WillFit(bytes)) {
      crowded_ = true;
      return std::nullopt;
    }
    AnnounceSent();  // the worker makes room
    if (images_.empty()) changed_.Wait(mutex_);
  }
}

void QueueReads::DropInput(ReadPlace read) {
  const base::MutexLock lock(mutex_);
  read->endpoint->arena().Free(*read->offset);
}

void QueueReads::Deliver(ReadPlace read, const Fetched& fetched) {
  if (fetched.kind != OutcomeKind::kDone) return End(read, fetched, {});
  const WorkItem& item = read->item;
  DecodeRequest request{.sequence = 0,
                        .input_offset = fetched.offset,
                        .input_bytes = fetched.input.bytes,
                        .row_offset = item.row_offset,
                        .row_bytes = fetched.input.has_image ? decode::RowBytes(item.spec) : 0,
                        .segment = item.segment,
                        .recipe_bytes = fetched.input.recipe_bytes,
                        .more_images = static_cast<uint32_t>(item.more_specs.size()),
                        .targets = fetched.input.targets,
                        .checkpoint_room = fetched.input.checkpoint_room,
                        .checkpoint_bytes = fetched.checkpoint_bytes,
                        .image_room = fetched.input.image_room,
                        .image_in_row = fetched.input.image_in_row,
                        .size_offset = item.size_offset.value_or(kNowhere),
                        .spec = item.spec,
                        .key = item.key};
  const base::TimePoint read_end = base::Now(), given = item.given;
  const base::Duration took = read_end - read->begun - fetched.held_up;
  std::shared_ptr<SupervisorEndpoint> endpoint;
  bool announce = true;
  {
    const base::MutexLock lock(mutex_);
    read->waits_for_source.reset();
    // Items that are read with `aside` can exceed the ring's capacity, so wait for a free place.
    while (IsCurrent(*read) && sent_.size() == kRingCapacity) {
      AnnounceSent();
      changed_.Wait(mutex_);
    }
    const bool aside = read->aside;
    if (IsCurrent(*read)) {
      // Under the lock, so that the completion finds its item.
      endpoint = read->endpoint;
      if (!endpoint->Push(request)) {
        broken_ = true;
        posix::NotifyEvent(wake_);
      }
      if (sent_.empty()) oldest_since_ = read_end;
      sent_.push_back({.sequence = request.sequence,
                       .offset = fetched.offset,
                       .room = {fetched.offset + request.input_bytes - request.checkpoint_room,
                                request.checkpoint_room},
                       .image_room = request.image_room,
                       .item = std::move(read->item),
                       .times = {.given = given,
                                 .read_begin = read->begun,
                                 .read_end = read_end,
                                 .held_up = fetched.held_up}});
      reads_.erase(read);
      announce = announcements_.Note(took) || ((aside || inbox_.empty()) && announcements_.Take());
    }
  }
  if (endpoint == nullptr) return End(read, {.kind = OutcomeKind::kLost}, {});
  if (announce) endpoint->WakeWorker();
}

void QueueReads::AnnounceSent() {
  if (announcements_.Take() && attached_ != nullptr) attached_->WakeWorker();
}

void QueueReads::End(ReadPlace read, const Fetched& fetched, absl::Status status) {
  const base::TimePoint now = base::Now();
  std::string path;
  if (fetched.kind == OutcomeKind::kRefused)
    path = read->item.dataset->FindPath(SampleOf(read->item, fetched.input.row));
  {
    const base::MutexLock lock(mutex_);
    ended_.push_back({.id = read->item.id,
                      .kind = fetched.kind,
                      .fault = fetched.fault,
                      .status = std::move(status),
                      .worker = options_.number,
                      .times = {.given = read->item.given,
                                .read_begin = read->begun,
                                .read_end = now,
                                .ended = now},
                      .path = std::move(path),
                      .row = fetched.input.row});
    reads_.erase(read);
  }
  posix::NotifyEvent(wake_);
}

bool QueueReads::IsCurrent(const Read& read) const {
  return !stopping_ && attached_ != nullptr && attached_ == read.endpoint;
}

}  // namespace penstock::workers
