#include "server/store/cache/known_file.h"

#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/hash.h"

namespace penstock::store {

uint64_t HashOfText(absl::string_view text) {
  base::Hasher hasher;
  hasher.Add(text);
  return hasher.Digest();
}

std::string ToKnownLine(uint64_t what, const std::string& text) {
  const std::string line = absl::StrCat(absl::Hex(what), " ", absl::Base64Escape(text));
  return absl::StrCat(line, " ", absl::Hex(HashOfText(line)), "\n");
}

std::optional<std::pair<uint64_t, std::string>> FromKnownLine(absl::string_view line) {
  const size_t end = line.rfind(' ');
  if (end == absl::string_view::npos) return std::nullopt;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line.substr(0, end), absl::MaxSplits(' ', 1));
  uint64_t what = 0, check = 0;
  std::string text;
  const bool is_whole = absl::SimpleHexAtoi(parts.first, &what) &&
                        absl::SimpleHexAtoi(line.substr(end + 1), &check) &&
                        check == HashOfText(line.substr(0, end)) &&
                        absl::Base64Unescape(parts.second, &text);
  if (!is_whole) return std::nullopt;
  return std::make_pair(what, std::move(text));
}

KnownLines VerifyKnown(const std::string& path) {
  KnownLines lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    ++(FromKnownLine(line) ? lines.whole : lines.damaged);
  return lines;
}

}  // namespace penstock::store
