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
    : max_({options.memory, options.folder.empty() ? 0 : options.folder_max}),
      memory_left_(options.ask) {
  if (max_bytes(Medium::kFolder) > 0)
    writer_ = std::make_unique<RowWriter>(RowWriter::Options{.folder = options.folder});
}

KeptRowStore::~KeptRowStore() {
  const base::MutexLock lock(mutex_);
  for (auto& [key, entry] : entries_)
    if (entry.file != nullptr) entry.file->GiveUp();
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
  EraseIfEmpty(entry);
}

void KeptRowStore::EraseIfEmpty(RowEntry& entry) {
  if (entry.users > 0) return;
  if (entry.file != nullptr && entry.BytesIn(Medium::kFolder) == 0) {
    --files_;
    std::shared_ptr<RowFile> file = std::move(entry.file);
    writer_->LetGo({}, std::move(file));
  }
  if (entry.bytes == std::array<uint64_t, kMedia>{}) entries_.erase(RowShelfKey(entry.key));
}

uint64_t KeptRowStore::RoomOf(Medium medium, uint64_t bytes) {
  return medium == Medium::kFolder ? RowFile::RoomOf(bytes) : bytes;
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

std::optional<KeptRowStore::Admitted> KeptRowStore::Admit(RowEntry& entry, uint64_t sample,
                                                          uint64_t bytes) {
  const bool has_memory = memory_left_.IsEnoughFor(*in_use_ + bytes);  // asks without our lock
  const base::MutexLock lock(mutex_);
  if (RowOf(entry, sample) != nullptr || entry.being_put.contains(sample)) return std::nullopt;
  Admitted admitted{.sample = sample, .number = ++puts_, .bytes = bytes, .medium = Medium::kMemory};
  if (!has_memory || !MakeRoom(entry, Medium::kMemory, bytes)) {
    admitted.medium = Medium::kFolder;
    admitted.bytes = RoomOf(Medium::kFolder, bytes);
    const bool fits = writer_ != nullptr && writer_->HasRoomFor(bytes) && MayHaveFile(entry) &&
                      MakeRoom(entry, Medium::kFolder, admitted.bytes);
    if (!fits) {
      ++counts_.refused;
      return std::nullopt;
    }
  }
  ++entry.users;
  entry.being_put.emplace(sample, admitted.number);
  return admitted;
}

void KeptRowStore::Put(RowEntry& entry, uint64_t sample, const RowParts& parts) {
  const std::optional<Admitted> admitted = Admit(entry, sample, BytesOf(parts));
  if (!admitted) return;
  std::shared_ptr<const MemoryRow> row;
  try {
    row = std::make_shared<const MemoryRow>(parts, in_use_);
  } catch (const std::bad_alloc&) {
    return Arrived(entry, *admitted, nullptr);
  }
  if (admitted->medium == Medium::kFolder) return WriteToFolder(entry, *admitted, std::move(row));
  Arrived(entry, *admitted, row);
}

void KeptRowStore::WriteToFolder(RowEntry& entry, const Admitted& admitted,
                                 std::shared_ptr<const MemoryRow> row) {
  std::shared_ptr<RowFile> file;
  {
    const base::MutexLock lock(mutex_);
    if (entry.file == nullptr) {
      entry.file = std::make_shared<RowFile>(writer_->folder(), row->bytes());
      ++files_;
    }
    file = entry.file;
  }
  writer_->Submit(std::move(row), std::move(file),
                  [this, &entry, admitted](const std::shared_ptr<const KeptRow>& written) {
                    Arrived(entry, admitted, written);
                  });
}

void KeptRowStore::Arrived(RowEntry& entry, const Admitted& admitted,
                           const std::shared_ptr<const KeptRow>& row) {
  const base::MutexLock lock(mutex_);
  const auto put = entry.being_put.find(admitted.sample);
  const bool is_wanted = put != entry.being_put.end() && put->second == admitted.number;
  if (is_wanted) entry.being_put.erase(put);  // otherwise it was forgotten in the meantime
  if (row == nullptr) ++counts_.refused;
  if (row != nullptr && is_wanted) {
    entry.In(admitted.medium).emplace(admitted.sample, row);
  } else {
    entry.BytesIn(admitted.medium) -= admitted.bytes;
    held_[static_cast<size_t>(admitted.medium)] -= admitted.bytes;
  }
  Leave(entry);
}

void KeptRowStore::Drop(RowEntry& entry, Medium medium, uint64_t sample) {
  const auto row = entry.In(medium).find(sample);
  const uint64_t bytes = RoomOf(medium, row->second->bytes());
  entry.BytesIn(medium) -= bytes;
  held_[static_cast<size_t>(medium)] -= bytes;
  if (medium == Medium::kFolder) writer_->LetGo(std::move(row->second), entry.file);
  entry.In(medium).erase(row);
}

void KeptRowStore::Forget(uint64_t files, uint64_t sample) {
  const base::MutexLock lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end();) {
    RowEntry& entry = (at++)->second;
    if (entry.key.files != files) continue;
    entry.being_put.erase(sample);
    for (const Medium medium : {Medium::kMemory, Medium::kFolder})
      if (entry.In(medium).contains(sample)) Drop(entry, medium, sample);
    EraseIfEmpty(entry);
  }
}

std::vector<uint64_t> KeptRowStore::SamplesOf(uint64_t files) const {
  std::vector<uint64_t> samples;
  const base::MutexLock lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    if (key.files != files) continue;
    for (const RowEntry::RowsOfMedium& rows : entry.rows)
      for (const auto& [sample, row] : rows) samples.push_back(sample);
    for (const auto& [sample, number] : entry.being_put) samples.push_back(sample);
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
