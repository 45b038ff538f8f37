#include "server/source/state/quarantine_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/hash.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kQuarantineMagic = "penstock-quarantine ";
constexpr absl::string_view kFirstLine = "penstock-quarantine 3";
constexpr absl::string_view kChecksum = "checksum ";

absl::Status Damaged(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("the quarantine file is damaged: ", why));
}

bool ParseHex(absl::string_view text, uint64_t& value) {
  return text.size() == 16 && absl::SimpleHexAtoi(text, &value);
}

bool IsKnown(uint32_t fault) {
  const auto known = static_cast<base::Fault>(fault);
  return known != base::Fault::kNone && base::FactsOf(known).has_value();
}

// False unless they are ascending and at most kMaxUsers.
bool ParseUsers(absl::string_view text, std::vector<uint32_t>& users) {
  if (text == "-") return true;
  for (const absl::string_view each : absl::StrSplit(text, ',')) {
    uint32_t user = 0;
    if (!absl::SimpleAtoi(each, &user) || (!users.empty() && user <= users.back())) return false;
    users.push_back(user);
  }
  return users.size() <= Quarantine::kMaxUsers;
}

bool ParseEntry(absl::string_view line, BadSample& entry) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 6));
  uint32_t fault = 0;
  if (parts.size() != 7 || !absl::SimpleAtoi(parts[0], &entry.sample) ||
      !absl::SimpleAtoi(parts[1], &fault) || !IsKnown(fault) ||
      !absl::SimpleAtoi(parts[2], &entry.time_unix_ms) ||
      !absl::SimpleAtoi(parts[3], &entry.attempts) || !ParseHex(parts[4], entry.stamp) ||
      !ParseUsers(parts[5], entry.users))
    return false;
  entry.fault = static_cast<base::Fault>(fault);
  absl::string_view path = parts[6];
  return absl::ConsumePrefix(&path, "\"") && absl::ConsumeSuffix(&path, "\"") &&
         absl::CUnescape(path, &entry.path);
}

// Returns the text before the checksum line if the checksum matches.
absl::StatusOr<absl::string_view> CheckedBody(absl::string_view text) {
  const size_t last = text.rfind(kChecksum);
  if (last == absl::string_view::npos || text.back() != '\n') return Damaged("it is cut off");
  const absl::string_view body = text.substr(0, last);
  uint64_t checksum = 0;
  absl::string_view written = absl::StripSuffix(text.substr(last + kChecksum.size()), "\n");
  if (!ParseHex(written, checksum) || checksum != base::Hash(body))
    return Damaged("its checksum is wrong");
  return body;
}

}  // namespace

std::string FormatQuarantine(const QuarantineText& content) {
  std::string text = absl::StrFormat("%s\ndataset %016x\nversion %d\n", kFirstLine, content.dataset,
                                     content.version);
  for (const BadSample& bad : content.entries)
    absl::StrAppend(&text, bad.sample, " ", static_cast<uint32_t>(bad.fault), " ", bad.time_unix_ms,
                    " ", bad.attempts, " ", absl::Hex(bad.stamp, absl::kZeroPad16), " ",
                    bad.users.empty() ? "-" : absl::StrJoin(bad.users, ","), " \"",
                    absl::CHexEscape(bad.path), "\"\n");
  return absl::StrFormat("%s%s%016x\n", text, kChecksum, base::Hash(text));
}

absl::StatusOr<QuarantineText> ParseQuarantine(absl::string_view text) {
  const absl::string_view first = text.substr(0, text.find('\n'));
  if (absl::StartsWith(first, kQuarantineMagic) && first != kFirstLine)
    return absl::DataLossError(
        absl::StrCat("the quarantine file has version '",
                     absl::CHexEscape(first.substr(kQuarantineMagic.size(), 8)),
                     "', wanted 3: another version of the daemon wrote it, ", "or it is damaged"));
  PENSTOCK_ASSIGN_OR_RETURN(const absl::string_view body, CheckedBody(text));
  std::vector<absl::string_view> lines = absl::StrSplit(absl::StripSuffix(body, "\n"), '\n');
  QuarantineText content;
  if (lines.size() < 3 || lines[0] != kFirstLine)
    return Damaged(absl::StrCat("wanted '", kFirstLine, "' and two more lines"));
  if (!absl::ConsumePrefix(&lines[1], "dataset ") || !ParseHex(lines[1], content.dataset))
    return Damaged("line 2 names no dataset");
  if (!absl::ConsumePrefix(&lines[2], "version ") || !absl::SimpleAtoi(lines[2], &content.version))
    return Damaged("line 3 is no version");
  for (size_t i = 3; i < lines.size(); ++i)
    if (!ParseEntry(lines[i], content.entries.emplace_back()))
      return Damaged(absl::StrCat("line ", i + 1, " is no entry"));
  return content;
}

}  // namespace penstock::source
