#include "server/feed/engine/deliveries.h"

#include <vector>

#include "common/base/check.h"

namespace penstock::feed {
namespace {

shm::ControlEntry ToControlEntry(const Announcement& announcement, const pool::SlotPlace& place) {
  shm::ControlEntry entry = {};
  entry.sequence = announcement.sequence;
  entry.generation = announcement.generation;
  entry.segment = place.segment.value();
  entry.rows = announcement.position.rows;
  entry.offset = place.offset;
  entry.epoch = announcement.position.epoch;
  entry.first = announcement.position.first;
  entry.step = announcement.step;
  entry.consumed = announcement.consumed;
  entry.valid_rows = announcement.valid_rows;
  entry.last_of_epoch = announcement.last_of_epoch ? 1 : 0;
  return entry;
}

exporting::FullSlot ToFullSlot(const Announcement& announcement, const pool::SlotPlace& place,
                               const pool::Segment& segment) {
  return {.slot = announcement.slot.value(),
          .generation = announcement.generation,
          .segment = place.segment.value(),
          .offset = place.offset,
          .data = place.data,
          .labels_offset = place.layout.labels_offset,
          .ids_offset = place.layout.ids_offset,
          .slot_bytes = place.layout.slot_bytes,
          .memory = &segment.memory,
          .memory_bytes = segment.bytes,
          .epoch = announcement.position.epoch,
          .first = announcement.position.first};
}

}  // namespace

bool Deliveries::Listen(base::TimePoint now) {
  bool busy = false;
  for (const auto& [id, session] : sessions_.all()) busy |= ListenTo(id, now);
  busy |= sessions_.DropReleased();
  return busy;
}

bool Deliveries::ListenTo(uint64_t id, base::TimePoint now) {
  SessionRecord& session = *sessions_.Find(id);
  const exporting::BatchDelivery::Heard heard = session.delivery->Listen();
  statistics_.Heard(session, heard, now, [&](const SessionFlow::BatchTimes& batch) {
    trace_.BatchReleased(id, session, batch);
  });
  absl::Status status = core_.Taken(SessionId(id), heard.taken, now);
  for (uint64_t sequence : heard.released)
    if (status.ok()) status = core_.Released(SessionId(id), sequence, now);
  if (!status.ok()) sessions_.Fail(id, status);
  return !heard.released.empty();
}

bool Deliveries::Announce(base::TimePoint now) {
  const std::vector<Announcement> announcements = core_.TakeAnnouncements();
  for (const Announcement& announcement : announcements) {
    SessionRecord* session = sessions_.Find(announcement.session.value());
    if (session != nullptr && !session->ended) AnnounceTo(*session, announcement, now);
  }
  return !announcements.empty();
}

void Deliveries::AnnounceTo(SessionRecord& session, const Announcement& announcement,
                            base::TimePoint now) {
  const uint64_t id = announcement.session.value();
  const pool::SlotPlace& place = pool_.Place(announcement.slot.value());
  const pool::Segment* segment = pool_.Find(place.segment);
  PENSTOCK_CHECK(segment != nullptr);
  if (const absl::Status wrong = Prepare(session, announcement, place, *segment); !wrong.ok())
    return sessions_.Fail(id, wrong);
  Note(session, announcement, now);
  session.delivery->Announce(ToControlEntry(announcement, place),
                             ToFullSlot(announcement, place, *segment));
  session.announced = announcement.sequence;
  session.epoch = announcement.position.epoch;
  session.consumed = announcement.consumed;
  sessions_.FinishIfDone(id);
}

absl::Status Deliveries::Prepare(const SessionRecord& session, const Announcement& announcement,
                                 const pool::SlotPlace& place, const pool::Segment& segment) {
  if (session.request.fail_on_bad_sample)
    PENSTOCK_RETURN_IF_ERROR(StandInIn(*session.feed, announcement.position, place));
  if (!session.delivery->reads_pool()) return absl::OkStatus();
  const absl::Status sent = segments_.Send(session.request.peer, segment);
  return sent.ok() ? sent : base::Annotate(sent, "a segment could not be sent");
}

void Deliveries::Note(SessionRecord& session, const Announcement& announcement,
                      base::TimePoint now) {
  statistics_.Announced(session);
  if (const auto filled = statistics_.SlotFull(session, announcement, now))
    trace_.SlotFull(session, announcement, *filled);
}

}  // namespace penstock::feed
