#include "server/kept/row_store.h"

#include <algorithm>
#include <utility>

namespace penstock::kept {
// ---- RowShelf ----

RowShelf::~RowShelf() { store_->Close(entry_); }
bool RowShelf::Has(uint64_t sample) const { return store_->Has(entry_, sample); }
bool RowShelf::HasRoomFor(uint64_t bytes) const { return store_->HasRoomFor(entry_, bytes); }
bool RowShelf::Take(uint64_t sample, const RowParts& parts) const {
  return store_->Take(entry_, sample, parts);
}
void RowShelf::NotePassedOver() const { store_->NotePassedOver(); }
void RowShelf::Put(uint64_t sample, const RowParts& parts) { store_->Put(entry_, sample, parts); }

// ---- RowStore ----

std::shared_ptr<RowShelf> RowStore::Open(const RowShelfKey& key) {
  if (max_bytes_ == 0 || key.files == 0) return nullptr;
  const base::MutexLock lock(mutex_);
  RowEntry& entry = entries_.try_emplace(key).first->second;
  entry.key = key;
  ++entry.shelves;
  return std::make_shared<RowShelf>(shared_from_this(), entry);
}

void RowStore::Close(RowEntry& entry) {
  const base::MutexLock lock(mutex_);
  if (--entry.shelves > 0) return;
  entry.closed = ++closings_;
  if (entry.rows.empty()) entries_.erase(entry.key);
}

bool RowStore::Has(const RowEntry& entry, uint64_t sample) const {
  const base::MutexLock lock(mutex_);
  return entry.rows.contains(sample);
}

bool RowStore::Take(RowEntry& entry, uint64_t sample, const RowParts& parts) {
  std::shared_ptr<const KeptRow> row;
  {
    const base::MutexLock lock(mutex_);
    if (const auto found = entry.rows.find(sample); found != entry.rows.end()) row = found->second;
  }
  if (row == nullptr) return false;
  if (!CopyBack(*row, parts)) {
    NoteWrong(entry, sample, *row);
    return false;
  }
  const base::MutexLock lock(mutex_);
  ++counts_.served;
  return true;
}

void RowStore::NoteWrong(RowEntry& entry, uint64_t sample, const KeptRow& row) {
  const base::MutexLock lock(mutex_);
  ++counts_.wrong;
  const auto found = entry.rows.find(sample);
  if (found != entry.rows.end() && found->second.get() == &row) Drop(entry, found);
}

void RowStore::Drop(RowEntry& entry, Found row) {
  held_ -= row->second->bytes;
  entry.bytes -= row->second->bytes;
  entry.rows.erase(row);
}

void RowStore::Forget(uint64_t files, uint64_t sample) {
  const base::MutexLock lock(mutex_);
  for (auto& [key, entry] : entries_) {
    if (key.files != files) continue;
    if (const auto found = entry.rows.find(sample); found != entry.rows.end()) Drop(entry, found);
  }
}

void RowStore::Put(RowEntry& entry, uint64_t sample, const RowParts& parts) {
  const uint64_t bytes = BytesOf(parts);
  {
    const base::MutexLock lock(mutex_);
    if (entry.rows.contains(sample)) return;
    if (!MakeRoom(entry, bytes)) {
      ++counts_.refused;
      return;
    }
    held_ += bytes;
    entry.bytes += bytes;
  }
  std::shared_ptr<const KeptRow> row = MakeKeptRow(parts, in_use_);
  const base::MutexLock lock(mutex_);
  if (entry.rows.try_emplace(sample, std::move(row)).second) return;
  held_ -= bytes;  // another thread was faster
  entry.bytes -= bytes;
}

RowStore::Counts RowStore::counts() const {
  const base::MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.bytes = *in_use_;
  return counts;
}

std::vector<uint64_t> RowStore::SamplesOf(uint64_t files) const {
  std::vector<uint64_t> samples;
  const base::MutexLock lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    if (key.files != files) continue;
    for (const auto& [sample, row] : entry.rows) samples.push_back(sample);
  }
  return samples;
}

void RowStore::NotePassedOver() {
  const base::MutexLock lock(mutex_);
  ++counts_.refused;
}

// ---- Who gets room ----

bool RowStore::MakeRoom(const RowEntry& entry, uint64_t bytes) {
  while (held_ + bytes > max_bytes_) {
    RowEntry* gives = OldestClosed();
    if (gives == nullptr) gives = LargestOfAnother(entry, bytes);
    if (gives == nullptr) return false;
    DropRow(*gives);
  }
  return true;
}

bool RowStore::HasRoomFor(const RowEntry& entry, uint64_t bytes) const {
  const base::MutexLock lock(mutex_);
  if (held_ + bytes <= max_bytes_) return true;
  const bool any_closed =
      std::ranges::any_of(entries_, [](const auto& each) { return each.second.shelves == 0; });
  if (any_closed) return true;
  const std::map<uint32_t, uint64_t> held = BytesByUser();
  return held.at(entry.key.user) + bytes <= max_bytes_ / held.size();
}

std::map<uint32_t, uint64_t> RowStore::BytesByUser() const {
  std::map<uint32_t, uint64_t> bytes;
  for (const auto& [key, entry] : entries_) bytes[key.user] += entry.bytes;
  return bytes;
}

RowEntry* RowStore::OldestClosed() {
  RowEntry* oldest = nullptr;
  for (auto& [key, entry] : entries_) {
    if (entry.shelves > 0 || entry.rows.empty()) continue;
    if (oldest == nullptr || entry.closed < oldest->closed) oldest = &entry;
  }
  return oldest;
}

// Of the user with the most, if this one has less than its share.
RowEntry* RowStore::LargestOfAnother(const RowEntry& entry, uint64_t bytes) {
  const std::map<uint32_t, uint64_t> held = BytesByUser();
  const uint32_t user = entry.key.user;
  if (held.at(user) + bytes > max_bytes_ / held.size()) return nullptr;
  const auto most = std::ranges::max_element(
      held, {}, [](const std::pair<const uint32_t, uint64_t>& each) { return each.second; });
  if (most->first == user) return nullptr;
  for (auto& [key, other] : entries_)
    if (key.user == most->first && !other.rows.empty()) return &other;
  return nullptr;
}

void RowStore::DropRow(RowEntry& entry) {
  Drop(entry, entry.rows.begin());
  if (entry.rows.empty() && entry.shelves == 0) entries_.erase(RowShelfKey(entry.key));
}

}  // namespace penstock::kept
