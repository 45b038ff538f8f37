#include "client/ctl/check/text.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::ctl {
namespace {

using Words = std::vector<absl::string_view>;

Words ToWords(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// The words after "key:".
std::optional<Words> LineOf(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    if (absl::ConsumePrefix(&line, key) && absl::ConsumePrefix(&line, ":")) return ToWords(line);
  return std::nullopt;
}

absl::Status Wrong(absl::string_view what, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": expected ", wanted));
}

bool ReadBound(absl::string_view word, uint64_t& bound) {
  if (word == "unlimited") {
    bound = kUnlimited;
    return true;
  }
  return absl::SimpleAtoi(word, &bound);
}

// mountinfo escapes characters as octal numbers, for example a space as "\040".
std::string Unescape(absl::string_view text) {
  const auto octal = [&](size_t at) { return text[at] >= '0' && text[at] <= '7'; };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.size() - i > 3 && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

absl::StatusOr<Identity> ParseIdentity(absl::string_view status) {
  const auto users = LineOf(status, "Uid"), groups = LineOf(status, "Gid");
  Identity identity;
  // The fields are: real, effective, saved, file system.
  if (!users || users->size() < 2 || !absl::SimpleAtoi((*users)[1], &identity.user))
    return Wrong("status", "a line 'Uid:' with four numbers");
  if (!groups || groups->size() < 2 || !absl::SimpleAtoi((*groups)[1], &identity.group))
    return Wrong("status", "a line 'Gid:' with four numbers");
  for (const absl::string_view word : LineOf(status, "Groups").value_or(Words())) {
    gid_t group = 0;
    if (!absl::SimpleAtoi(word, &group)) return Wrong("status", "numbers after 'Groups:'");
    identity.groups.push_back(group);
  }
  return identity;
}

absl::StatusOr<Limit> ParseLimit(absl::string_view limits, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(limits, '\n')) {
    if (!absl::ConsumePrefix(&line, name) || !absl::ConsumePrefix(&line, " ")) continue;
    const Words words = ToWords(line);
    Limit limit;
    if (words.size() >= 2 && ReadBound(words[0], limit.soft) && ReadBound(words[1], limit.hard))
      return limit;
    break;
  }
  return Wrong("limits", absl::StrCat("a line '", name, "' with two numbers"));
}

absl::StatusOr<std::string> ParseChoice(absl::string_view text) {
  const size_t open = text.find('['), close = text.find(']');
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open + 2)
    return Wrong("choices", "one of them in brackets");
  return std::string(text.substr(open + 1, close - open - 1));
}

absl::StatusOr<std::vector<IdRange>> ParseIds(absl::string_view text) {
  std::vector<IdRange> ids;
  for (const absl::string_view part :
       absl::StrSplit(absl::StripAsciiWhitespace(text), ',', absl::SkipEmpty())) {
    const Words ends = absl::StrSplit(part, '-');
    IdRange range;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &range.first) ||
        !absl::SimpleAtoi(ends.back(), &range.last) || range.last < range.first)
      return Wrong("list of numbers", absl::StrCat("a list such as 0-3,8; got '", part, "'"));
    ids.push_back(range);
  }
  return ids;
}

uint64_t CountOf(const std::vector<IdRange>& ids) {
  uint64_t count = 0;
  for (const IdRange& range : ids) count += uint64_t{range.last} - range.first + 1;
  return count;
}

bool Overlap(const std::vector<IdRange>& one, const std::vector<IdRange>& other) {
  for (const IdRange& a : one)
    for (const IdRange& b : other)
      if (a.first <= b.last && b.first <= a.last) return true;
  return false;
}

std::optional<uint64_t> KeyedNumber(absl::string_view text, absl::string_view key) {
  const auto words = LineOf(text, key);
  uint64_t number = 0;
  if (!words || words->empty() || !absl::SimpleAtoi(words->front(), &number)) return std::nullopt;
  if (words->size() < 2 || (*words)[1] != "kB") return number;
  return number <= kUnlimited / 1024 ? std::optional(number * 1024) : std::nullopt;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": proc(5).
std::vector<Mount> ParseMounts(absl::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const Words words = ToWords(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 7 || dash - words.begin() < 6 || words.end() - dash < 2) continue;
    mounts.push_back({Unescape(words[4]), std::string(dash[1])});
  }
  return mounts;
}

const Mount* MountOf(const std::vector<Mount>& mounts, absl::string_view path) {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts) {
    absl::string_view rest = path;
    const bool below = mount.point == "/" || (absl::ConsumePrefix(&rest, mount.point) &&
                                              (rest.empty() || rest.front() == '/'));
    // If two are at the same place, the later one hides the earlier.
    if (below && (found == nullptr || mount.point.size() >= found->point.size())) found = &mount;
  }
  return found;
}

bool IsRemote(absl::string_view file_system) {
  static constexpr std::array<absl::string_view, 15> kRemote = {
      "nfs", "nfs4",     "cifs", "smb3", "smbfs",  "ceph",      "lustre",  "gpfs",
      "9p",  "virtiofs", "afs",  "gfs2", "beegfs", "glusterfs", "orangefs"};
  const absl::string_view bare = file_system.substr(0, file_system.find('.'));  // fuse.sshfs
  return bare == "fuse" || std::find(kRemote.begin(), kRemote.end(), bare) != kRemote.end();
}

bool IsWholeUserMap(absl::string_view uid_map) {
  const Words words = ToWords(absl::StripAsciiWhitespace(uid_map));
  return words.size() == 3 && words[0] == "0" && words[1] == "0" && words[2] == "4294967295";
}

std::string DriverVersion(absl::string_view text) {
  const size_t end = text.find('\n');
  for (const absl::string_view word : ToWords(text.substr(0, end))) {
    const bool spelled = std::all_of(word.begin(), word.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.';
    });
    const size_t dot = word.find('.');
    if (spelled && dot != absl::string_view::npos && dot > 0) return std::string(word);
  }
  return "";
}

}  // namespace penstock::ctl
