#include "common/telemetry/journal.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace penstock::telemetry {
namespace {

// The journal takes names of at most 64 characters.
constexpr size_t kLongestName = 64;

// A value with a line break follows its length, as eight bytes in little endian.
void AppendVariable(absl::string_view name, absl::string_view value, std::string& out) {
  out.append(name.data(), name.size());
  if (value.find('\n') == absl::string_view::npos) {
    out += '=';
  } else {
    const uint64_t size = htole64(value.size());
    out += '\n';
    out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  }
  out.append(value.data(), value.size());
  out += '\n';
}

std::string ToVariableName(absl::string_view key) {
  return absl::StrCat("PENSTOCK_", absl::AsciiStrToUpper(key)).substr(0, kLongestName);
}

}  // namespace

std::string ToDatagram(const JournalEntry& entry) {
  std::string datagram;
  AppendVariable("MESSAGE", entry.message, datagram);
  AppendVariable("PRIORITY", std::string(1, ToPriority(entry.level)), datagram);
  AppendVariable("SYSLOG_IDENTIFIER", "penstockd", datagram);
  AppendVariable("PENSTOCK_EVENT", entry.event, datagram);
  for (const LogField& field : entry.fields)
    AppendVariable(ToVariableName(field.key), field.value, datagram);
  return datagram;
}

bool IsJournalStream(int descriptor, const char* journal_stream) {
  if (journal_stream == nullptr) return false;
  struct stat facts = {};
  if (::fstat(descriptor, &facts) != 0) return false;
  return absl::StrCat(facts.st_dev, ":", facts.st_ino) == journal_stream;
}

Journal::Journal(Options options)
    : options_(std::move(options)),
      socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}

Journal::~Journal() {
  if (socket_ >= 0) ::close(socket_);
}

void Journal::Write(const JournalEntry& entry) {
  if (Deliver(entry)) return SayWhatIsLost();
  lost_.fetch_add(1, std::memory_order_relaxed);
  lost_and_unsaid_.fetch_add(1, std::memory_order_relaxed);
}

bool Journal::Deliver(const JournalEntry& entry) {
  return SendDatagram(ToDatagram(entry)) || SendLine(entry);
}

// Every datagram fits: the fields are bounded (line.h), and a socket takes 208 KiB by default.
bool Journal::SendDatagram(const std::string& datagram) const {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (socket_ < 0 || options_.socket.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, options_.socket.data(), options_.socket.size());
  return ::sendto(socket_, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), sizeof(address)) >= 0;
}

// The kernel takes a line of this length as a whole or not at all.
bool Journal::SendLine(const JournalEntry& entry) const {
  const std::string line =
      absl::StrCat("<", std::string(1, ToPriority(entry.level)), ">", entry.message, "\n");
  return ::send(options_.stream, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(line.size());
}

// Once the journal takes entries again, the first says how many are missing.
void Journal::SayWhatIsLost() {
  const uint64_t lost = lost_and_unsaid_.exchange(0, std::memory_order_relaxed);
  if (lost == 0) return;
  const std::array fields = {LogField("lines", lost),
                             LogField("reason", "the journal did not take them in time")};
  const std::string message = FormatEvent("log_lines_lost", fields);
  const JournalEntry entry = {
      .level = Level::kWarning, .message = message, .event = "log_lines_lost", .fields = fields};
  if (!Deliver(entry)) lost_and_unsaid_.fetch_add(lost, std::memory_order_relaxed);
}

}  // namespace penstock::telemetry
