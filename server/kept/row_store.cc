#include "server/kept/row_store.h"

#include <new>
#include <utility>

namespace penstock::kept {

// ---- RowShelf ----

RowShelf::~RowShelf() { store_->Close(entry_); }
std::optional<Medium> RowShelf::Find(uint64_t sample) const { return store_->Find(entry_, sample); }
std::optional<uint64_t> RowShelf::BytesOf(uint64_t sample) const {
  return store_->FindBytes(entry_, sample);
}
bool RowShelf::HasRoomFor(uint64_t bytes) const { return store_->HasRoomFor(entry_, bytes); }
bool RowShelf::Take(uint64_t sample, const RowParts& parts) const {
  return store_->Take(entry_, sample, parts);
}
void RowShelf::NotePassedOver() const { store_->NotePassedOver(); }
void RowShelf::Put(uint64_t sample, const RowParts& parts) { store_->Put(entry_, sample, parts); }

// ---- KeptRowStore ----

KeptRowStore::KeptRowStore(const Options& options)
    : max_({options.memory, options.folder.empty() ? 0 : options.folder_max}) {
  if (max_bytes(Medium::kFolder) > 0)
    writer_ = std::make_unique<RowWriter>(RowWriter::Options{.folder = options.folder});
}

std::shared_ptr<RowShelf> KeptRowStore::Open(const RowShelfKey& key) {
  if (max_ == std::array<uint64_t, kMedia>{} || key.files == 0) return nullptr;
  const base::MutexLock lock(mutex_);
  RowEntry& entry = entries_.try_emplace(key).first->second;
  entry.key = key;
  ++entry.users;
  return std::make_shared<RowShelf>(shared_from_this(), entry);
}

void KeptRowStore::Close(RowEntry& entry) {
  const base::MutexLock lock(mutex_);
  Leave(entry);
}

void KeptRowStore::Leave(RowEntry& entry) {
  if (--entry.users > 0) return;
  entry.closed = ++closings_;
  if (entry.bytes == std::array<uint64_t, kMedia>{}) entries_.erase(RowShelfKey(entry.key));
}

std::shared_ptr<const KeptRow> KeptRowStore::RowOf(RowEntry& entry, uint64_t sample) const {
  for (const RowEntry::RowsOfMedium& rows : entry.rows)
    if (const auto found = rows.find(sample); found != rows.end()) return found->second;
  return nullptr;
}

std::optional<Medium> KeptRowStore::Find(RowEntry& entry, uint64_t sample) const {
  const base::MutexLock lock(mutex_);
  const std::shared_ptr<const KeptRow> row = RowOf(entry, sample);
  return row == nullptr ? std::nullopt : std::optional<Medium>(row->medium());
}

std::optional<uint64_t> KeptRowStore::FindBytes(RowEntry& entry, uint64_t sample) const {
  const base::MutexLock lock(mutex_);
  const std::shared_ptr<const KeptRow> row = RowOf(entry, sample);
  return row == nullptr ? std::nullopt : std::optional<uint64_t>(row->bytes());
}

bool KeptRowStore::Take(RowEntry& entry, uint64_t sample, const RowParts& parts) {
  std::shared_ptr<const KeptRow> row;
  {
    const base::MutexLock lock(mutex_);
    row = RowOf(entry, sample);
  }
  if (row == nullptr) return false;
  const bool done = row->CopyTo(parts) == KeptRow::Copied::kDone;
  const base::MutexLock lock(mutex_);
  if (done) {
    ++counts_.served;
    return true;
  }
  ++counts_.wrong;
  if (RowOf(entry, sample) == row) Drop(entry, row->medium(), sample);
  return false;
}

void KeptRowStore::Put(RowEntry& entry, uint64_t sample, const RowParts& parts) {
  const uint64_t bytes = BytesOf(parts);
  std::optional<Medium> medium;
  {
    const base::MutexLock lock(mutex_);
    if (RowOf(entry, sample) != nullptr) return;
    if (MakeRoom(entry, Medium::kMemory, bytes)) {
      medium = Medium::kMemory;
    } else if (writer_ != nullptr && writer_->HasRoomFor(bytes) &&
               MakeRoom(entry, Medium::kFolder, bytes)) {
      medium = Medium::kFolder;
    } else {
      ++counts_.refused;
      return;
    }
    ++entry.users;
  }
  std::shared_ptr<const MemoryRow> row;
  try {
    row = std::make_shared<const MemoryRow>(parts, in_use_);
  } catch (const std::bad_alloc&) {  // the limit may be larger than the memory there is
    return Arrived(entry, sample, *medium, bytes, nullptr);
  }
  if (*medium == Medium::kFolder) return WriteToFolder(entry, sample, std::move(row));
  Arrived(entry, sample, Medium::kMemory, bytes, row);
}

void KeptRowStore::WriteToFolder(RowEntry& entry, uint64_t sample,
                                 std::shared_ptr<const MemoryRow> row) {
  const uint64_t bytes = row->bytes();
  std::shared_ptr<RowFile> file;
  {
    const base::MutexLock lock(mutex_);
    if (entry.file == nullptr) entry.file = std::make_shared<RowFile>(writer_->folder(), bytes);
    file = entry.file;
  }
  writer_->Submit(std::move(row), std::move(file),
                  [this, &entry, sample, bytes](const std::shared_ptr<const KeptRow>& written) {
                    Arrived(entry, sample, Medium::kFolder, bytes, written);
                  });
}

void KeptRowStore::Arrived(RowEntry& entry, uint64_t sample, Medium medium, uint64_t bytes,
                           const std::shared_ptr<const KeptRow>& row) {
  const base::MutexLock lock(mutex_);
  const bool kept = row != nullptr && RowOf(entry, sample) == nullptr;
  if (row == nullptr) ++counts_.refused;
  if (kept) {
    entry.In(medium).emplace(sample, row);
  } else {  // another thread was faster, or it could not be written
    entry.BytesIn(medium) -= bytes;
    held_[static_cast<size_t>(medium)] -= bytes;
  }
  Leave(entry);
}

void KeptRowStore::Drop(RowEntry& entry, Medium medium, uint64_t sample) {
  const auto row = entry.In(medium).find(sample);
  const uint64_t bytes = row->second->bytes();
  entry.BytesIn(medium) -= bytes;
  held_[static_cast<size_t>(medium)] -= bytes;
  entry.In(medium).erase(row);
}

void KeptRowStore::Forget(uint64_t files, uint64_t sample) {
  const base::MutexLock lock(mutex_);
  for (auto& [key, entry] : entries_) {
    if (key.files != files) continue;
    if (const auto row = RowOf(entry, sample)) Drop(entry, row->medium(), sample);
  }
}

std::vector<uint64_t> KeptRowStore::SamplesOf(uint64_t files) const {
  std::vector<uint64_t> samples;
  const base::MutexLock lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    if (key.files != files) continue;
    for (const RowEntry::RowsOfMedium& rows : entry.rows)
      for (const auto& [sample, row] : rows) samples.push_back(sample);
  }
  return samples;
}

KeptRowStore::Counts KeptRowStore::counts() const {
  const base::MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.bytes = *in_use_;
  counts.folder_bytes = held_[static_cast<size_t>(Medium::kFolder)];
  return counts;
}

void KeptRowStore::NotePassedOver() {
  const base::MutexLock lock(mutex_);
  ++counts_.refused;
}

}  // namespace penstock::kept
