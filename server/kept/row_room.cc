// Who gets room in the store.
#include <algorithm>

#include "server/kept/row_store.h"

namespace penstock::kept {

namespace {

// Each takes a descriptor of the daemon.
constexpr size_t kMostFiles = 256;
constexpr int kMostDropped = 64;  // rows at once, because everybody waits meanwhile

}  // namespace

bool KeptRowStore::MakeRoom(RowEntry& entry, Medium medium, uint64_t bytes) {
  if (bytes > max_bytes(medium)) return false;
  uint64_t& held = held_[static_cast<size_t>(medium)];
  while (held + bytes > max_bytes(medium)) {
    RowEntry* gives = OldestClosed(medium);
    if (gives == nullptr) gives = LargestOfAnother(entry, medium, bytes);
    if (gives == nullptr) return false;
    Drop(*gives, medium, gives->In(medium).begin()->first);
    EraseIfEmpty(*gives);
  }
  held += bytes;
  entry.BytesIn(medium) += bytes;
  return true;
}

// If there are many files, drops rows of the feed that has been closed for longest, until its file
// goes. Meanwhile rows are not kept.
bool KeptRowStore::MayHaveFile(const RowEntry& entry) {
  if (entry.file != nullptr || files_ < kMostFiles) return true;
  RowEntry* const gives = OldestClosed(Medium::kFolder);
  if (gives == nullptr) return false;
  for (int i = 0; i < kMostDropped && !gives->In(Medium::kFolder).empty(); ++i)
    Drop(*gives, Medium::kFolder, gives->In(Medium::kFolder).begin()->first);
  EraseIfEmpty(*gives);
  return files_ < kMostFiles;
}

bool KeptRowStore::HasRoomFor(RowEntry& entry, uint64_t bytes) {
  const bool has_memory = memory_left_.IsEnoughFor(*in_use_ + bytes);  // asks without our lock
  const base::MutexLock lock(mutex_);
  if (has_memory && MayHaveRoom(entry, Medium::kMemory, bytes)) return true;
  return writer_ != nullptr && writer_->HasRoomFor(bytes) &&
         MayHaveRoom(entry, Medium::kFolder, RoomOf(Medium::kFolder, bytes));
}

bool KeptRowStore::MayHaveRoom(RowEntry& entry, Medium medium, uint64_t bytes) {
  if (bytes > max_bytes(medium)) return false;
  if (held_[static_cast<size_t>(medium)] + bytes <= max_bytes(medium)) return true;
  return OldestClosed(medium) != nullptr || LargestOfAnother(entry, medium, bytes) != nullptr;
}

std::map<uint32_t, uint64_t> KeptRowStore::BytesByUser(Medium medium) {
  std::map<uint32_t, uint64_t> bytes;
  for (auto& [key, entry] : entries_) bytes[key.user] += entry.BytesIn(medium);
  return bytes;
}

RowEntry* KeptRowStore::OldestClosed(Medium medium) {
  RowEntry* oldest = nullptr;
  for (auto& [key, entry] : entries_) {
    if (entry.users > 0 || entry.In(medium).empty()) continue;
    if (oldest == nullptr || entry.closed < oldest->closed) oldest = &entry;
  }
  return oldest;
}

// Of the user with the most, if this one has less than an equal share.
RowEntry* KeptRowStore::LargestOfAnother(RowEntry& entry, Medium medium, uint64_t bytes) {
  const std::map<uint32_t, uint64_t> held = BytesByUser(medium);
  const uint32_t user = entry.key.user;
  if (held.at(user) + bytes > max_bytes(medium) / held.size()) return nullptr;
  const auto most = std::ranges::max_element(
      held, {}, [](const std::pair<const uint32_t, uint64_t>& each) { return each.second; });
  if (most->first == user) return nullptr;
  for (auto& [key, other] : entries_)
    if (key.user == most->first && !other.In(medium).empty()) return &other;
  return nullptr;
}

}  // namespace penstock::kept
