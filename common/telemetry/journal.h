// Sends log lines to systemd's journal: with their fields by the journal's native protocol
// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL) or, if its socket does not take them, as lines with
// an sd-daemon(3) prefix on a standard error that is a stream to the journal.
//
// It never waits: what the journal cannot take now is lost and counted.
//
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "common/telemetry/level.h"
#include "common/telemetry/line.h"

namespace penstock::telemetry {

inline constexpr char kJournalSocket[] = "/run/systemd/journal/socket";

struct JournalEntry {
  Level level = Level::kInfo;
  absl::string_view message;  // the whole line, for people
  absl::string_view event;
  std::span<const LogField> fields;
};

// The entry as a datagram of the native protocol: MESSAGE, PRIORITY, SYSLOG_IDENTIFIER=penstockd,
// PENSTOCK_EVENT, and each field as PENSTOCK_<KEY>, for example PENSTOCK_DATASET. Pure.
std::string ToDatagram(const JournalEntry& entry);

// Whether `descriptor` is the stream that `journal_stream`, the value of $JOURNAL_STREAM, names
// ("<device>:<inode>"; may be null).
bool IsJournalStream(int descriptor, const char* journal_stream);

class Journal {
 public:
  struct Options {
    std::string socket = kJournalSocket;
    int stream = 2;  // borrowed: where lines with a prefix are written
  };
  explicit Journal(Options options);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void Write(const JournalEntry& entry);
  // Entries that the journal did not take.
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  bool Deliver(const JournalEntry& entry);
  bool SendDatagram(const std::string& datagram) const;
  bool SendLine(const JournalEntry& entry) const;
  void SayWhatIsLost();

  const Options options_;
  const int socket_;  // owned; -1: none
  std::atomic<uint64_t> lost_ = 0, lost_and_unsaid_ = 0;
};

}  // namespace penstock::telemetry
