#include "server/status/page/pages.h"

#include <google/protobuf/util/json_util.h>

#include <chrono>
#include <utility>

namespace penstock::status {
namespace {

constexpr size_t kRecentRecords = 12;  // a minute

// Null if that fails, as it should not.
std::shared_ptr<const std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok()) return nullptr;
  return std::make_shared<const std::string>(text + "\n");
}

void AddRecord(const HistoryRecord& record, v1::StatusHistory& history) {
  history.add_time_unix_ms(record.time_unix_ms);
  history.add_samples_per_second(record.samples_per_second);
  history.add_batches_per_second(record.batches_per_second);
  history.add_starved(record.starved);
  history.add_occupancy(record.occupancy);
  history.add_workers_busy(record.workers_busy);
  history.add_sessions(record.sessions);
  history.add_stalls(record.stalls);
  history.add_draining(record.draining);
}

}  // namespace

int64_t UnixMs() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

Pages::Pages(Sources sources, Options options)
    : sources_(std::move(sources)), options_(options), page_(sources_.page, options.patience) {}

std::shared_ptr<const std::string> Pages::StatusJson() {
  if (status_ != nullptr && clock_.Now() - status_at_ < options_.fresh) return status_;
  page_.Renew();
  const auto [page, at] = page_.With([](const Page* answer, base::TimePoint came) {
    return std::pair(answer == nullptr ? Page() : *answer, came);
  });
  if (page == nullptr) return nullptr;
  status_at_ = clock_.Now();
  v1::StatusPage whole = *page;
  whole.set_age_ms(static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(status_at_ - at).count()));
  whole.set_started_unix_ms(sources_.started_unix_ms);
  *whole.mutable_recent() = NewestHistory(kRecentRecords);
  status_ = ToJson(whole);
  return status_;
}

std::shared_ptr<const std::string> Pages::HistoryJson() {
  if (history_text_ != nullptr && clock_.Now() - history_at_ < options_.fresh) return history_text_;
  history_at_ = clock_.Now();
  history_text_ = ToJson(NewestHistory(kHistoryRecords));
  return history_text_;
}

v1::StatusHistory Pages::NewestHistory(size_t records) const {
  v1::StatusHistory history;
  history.set_started_unix_ms(sources_.started_unix_ms);
  history.set_interval_ms(
      static_cast<uint32_t>(std::chrono::milliseconds(kHistoryInterval).count()));
  history.set_max_records(kHistoryRecords);
  for (const HistoryRecord& record : history_->Newest(records)) AddRecord(record, history);
  return history;
}

// While the runner is stuck, questions wait in its queue, and their answers come at once when it
// goes on; the first of them then makes one long interval.
void Pages::Tick(base::TimePoint now) {
  if (noted_at_ != base::TimePoint() && now - noted_at_ < kHistoryInterval) return;
  noted_at_ = now;
  const bool draining = sources_.draining();
  sources_.snapshot([history = history_, draining](Snapshot snapshot) {
    history->Add({.at = base::Now(),
                  .time_unix_ms = UnixMs(),
                  .draining = draining,
                  .snapshot = std::move(snapshot)});
  });
}

}  // namespace penstock::status
