#include "server/store/files/last_known.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/hash.h"

namespace penstock::store {
namespace {

constexpr base::Duration kAwayFor = std::chrono::seconds(30);
constexpr uint64_t kMostLines = 4;  // for each entry; beyond that the file is written anew

uint64_t HashOfText(absl::string_view text) {
  base::Hasher hasher;
  hasher.Add(text);
  return hasher.Digest();
}

// "WHAT TEXT CHECK": two hashes in hexadecimal digits, and between them the escaped text.
std::string ToLine(uint64_t what, const std::string& text) {
  const std::string line = absl::StrCat(absl::Hex(what), " ", absl::Base64Escape(text));
  return absl::StrCat(line, " ", absl::Hex(HashOfText(line)), "\n");
}

std::optional<std::pair<uint64_t, std::string>> FromLine(absl::string_view line) {
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

}  // namespace

LastKnown::LastKnown(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) Load();
}

void LastKnown::Load() {
  const base::MutexLock lock(mutex_);
  uint64_t lines = 0;
  bool is_torn = false;
  {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line); ++lines) {
      auto entry = FromLine(line);
      is_torn |= !entry;
      if (entry) known_[entry->first] = std::move(entry->second);
    }
  }
  if (!is_torn && lines <= kMostLines * known_.size()) return;
  const std::string anew = path_ + ".new";
  std::ofstream file(anew, std::ios::trunc);
  for (const auto& [what, text] : known_) file << ToLine(what, text);
  file.close();
  if (file) (void)::rename(anew.c_str(), path_.c_str());
}

void LastKnown::Note(const std::string& what, const std::string& text) {
  if (path_.empty()) return;
  const uint64_t hash = HashOfText(what);
  const base::MutexLock lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(hash, text);
  if (!is_new && known->second == text) return;
  known->second = text;
  std::ofstream(path_, std::ios::app) << ToLine(hash, text);
}

std::optional<std::string> LastKnown::Find(const std::string& what) const {
  const base::MutexLock lock(mutex_);
  const auto known = known_.find(HashOfText(what));
  if (known == known_.end()) return std::nullopt;
  return known->second;
}

void LastKnown::NoteVersion(const std::string& what, const ObjectVersion& version) {
  Note(what, absl::StrCat(version.bytes, "\n", version.modified_ns, "\n", version.etag, "\n",
                          version.modified));
}

std::optional<ObjectVersion> LastKnown::FindVersion(const std::string& what) const {
  const std::optional<std::string> text = Find(what);
  if (!text) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(*text, '\n');
  ObjectVersion version;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &version.bytes) ||
      !absl::SimpleAtoi(parts[1], &version.modified_ns))
    return std::nullopt;
  version.etag = parts[2];
  version.modified = parts[3];
  if (!version.is_pinned()) return std::nullopt;
  return version;
}

void LastKnown::NoteNames(const std::string& what, const std::vector<std::string>& names) {
  Note(what, absl::StrJoin(names, "\n"));
}

std::optional<std::vector<std::string>> LastKnown::FindNames(const std::string& what) const {
  const std::optional<std::string> text = Find(what);
  if (!text) return std::nullopt;
  if (text->empty()) return std::vector<std::string>{};
  return absl::StrSplit(*text, '\n');
}

bool LastKnown::IsAway(const std::string& where) const {
  const base::MutexLock lock(mutex_);
  const auto until = away_until_.find(where);
  return until != away_until_.end() && base::Now() < until->second;
}

void LastKnown::NoteAway(const std::string& where) {
  const base::MutexLock lock(mutex_);
  away_until_[where] = base::Now() + kAwayFor;
}

void LastKnown::NoteAnswer(const std::string& where) {
  const base::MutexLock lock(mutex_);
  away_until_.erase(where);
}

}  // namespace penstock::store
