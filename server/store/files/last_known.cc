#include "server/store/files/last_known.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/store/cache/known_file.h"

namespace penstock::store {
namespace {

constexpr base::Duration kAwayFor = std::chrono::seconds(30);
constexpr uint64_t kMostLines = 4;  // for each entry; beyond that the file is written anew

// The text of an object that is not there.
constexpr char kAbsent[] = "absent";
constexpr uint64_t kMostKeptBytes = 64 << 20;

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
      auto entry = FromKnownLine(line);
      is_torn |= !entry;
      if (entry) known_[entry->first] = std::move(entry->second);
    }
  }
  for (const auto& [what, text] : known_) kept_bytes_ += text.size();
  stamp_ = StampOfFile();
  if (is_torn || lines > kMostLines * known_.size()) WriteAnew();
}

LastKnown::KnownStamp LastKnown::StampOfFile() const {
  struct stat stat {};
  if (::stat(path_.c_str(), &stat) != 0) return {};
  return {.inode = stat.st_ino,
          .bytes = static_cast<uint64_t>(stat.st_size),
          .changed_ns = stat.st_mtim.tv_sec * int64_t{1'000'000'000} + stat.st_mtim.tv_nsec};
}

void LastKnown::WriteAnew() {
  const std::string anew = path_ + ".new";
  std::ofstream file(anew, std::ios::trunc);
  for (const auto& [what, text] : known_) file << ToKnownLine(what, text);
  file.close();
  if (file) (void)::rename(anew.c_str(), path_.c_str());
  stamp_ = StampOfFile();
}

void LastKnown::Mend() {
  const base::MutexLock lock(mutex_);
  if (!path_.empty() && stamp_ != StampOfFile()) WriteAnew();
}

void LastKnown::Note(const std::string& what, const std::string& text) {
  if (path_.empty()) return;
  const uint64_t hash = HashOfText(what);
  const base::MutexLock lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(hash, text);
  const bool is_mine = stamp_ == StampOfFile();
  if (!is_new && known->second == text && is_mine) return;
  known->second = text;
  if (!is_mine) return WriteAnew();
  std::ofstream(path_, std::ios::app) << ToKnownLine(hash, text);
  stamp_ = StampOfFile();
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

void LastKnown::NoteAbsent(const std::string& what) { Note(what, kAbsent); }

bool LastKnown::IsAbsent(const std::string& what) const { return Find(what) == kAbsent; }

void LastKnown::NoteBytes(const std::string& what, std::span<const std::byte> bytes) {
  {
    const base::MutexLock lock(mutex_);
    if (kept_bytes_ + bytes.size() > kMostKeptBytes) return;
    kept_bytes_ += bytes.size();
  }
  Note(what, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

bool LastKnown::FindBytes(const std::string& what, std::span<std::byte> into) const {
  const std::optional<std::string> text = Find(what);
  if (!text || text->size() != into.size()) return false;
  std::memcpy(into.data(), text->data(), into.size());
  return true;
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
