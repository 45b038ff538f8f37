#include "server/checkpoints/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace penstock::checkpoints {
namespace {

// Closed shelves without anything in them are forgotten at once. If there are as many others,
// opening another one drops something of them.
constexpr size_t kMostEntries = 1024;
// Blocks that are dropped at once: a shelf may have millions, and everybody waits meanwhile.
constexpr int kMostDropped = 64;

// Of the sample in a block.
uint16_t LengthAt(std::span<const std::byte> block, uint64_t place) {
  uint16_t length;
  std::memcpy(&length, block.data() + place * sizeof length, sizeof length);
  return length;
}

std::span<std::byte> RoomAt(std::span<std::byte> block, uint64_t place, uint32_t room) {
  return block.subspan(kBlockSamples * sizeof(uint16_t) + place * room, room);
}

void Store(std::span<std::byte> block, uint64_t place, uint32_t room,
           std::span<const std::byte> bytes) {
  const auto length = static_cast<uint16_t>(bytes.size());
  std::memcpy(block.data() + place * sizeof length, &length, sizeof length);
  std::ranges::copy(bytes, RoomAt(block, place, room).begin());
}

}  // namespace

CheckpointShelf::~CheckpointShelf() { store_->Close(entry_); }

uint32_t CheckpointShelf::Take(uint64_t sample, std::span<std::byte> into) const {
  return store_->Take(entry_, sample, into);
}

void CheckpointShelf::Put(uint64_t sample, std::span<const std::byte> bytes) {
  PENSTOCK_CHECK(bytes.size() <= room_);
  store_->Put(entry_, sample, bytes);
}

std::shared_ptr<CheckpointShelf> CheckpointStore::Open(const ShelfKey& key) {
  if (max_bytes_ == 0 || key.samples == 0) return nullptr;
  const auto room =
      static_cast<uint32_t>(std::clamp<uint64_t>(max_bytes_ / key.samples, kLeastRoom, kMostRoom));
  const base::MutexLock lock(mutex_);
  if (entries_.size() >= kMostEntries) DropOfClosed();
  const auto [at, is_new] = entries_.try_emplace(key);
  ShelfEntry& entry = at->second;
  if (is_new) entry.place = {key, room};
  if (is_new || std::exchange(entry.was_dropped_from, false)) {
    news_.push_back(entry.place);
    if (news_.size() > kMostEntries) news_.pop_front();
    opened_.NotifyAll();
  }
  ++entry.shelves;
  return std::make_shared<CheckpointShelf>(shared_from_this(), entry, room);
}

void CheckpointStore::Close(ShelfEntry& entry) {
  const base::MutexLock lock(mutex_);
  if (--entry.shelves > 0) return;
  entry.closed = ++closings_;
  if (entry.blocks.empty()) entries_.erase(entry.place.key);
}

uint32_t CheckpointStore::Take(const ShelfEntry& entry, uint64_t sample,
                               std::span<std::byte> into) {
  const base::MutexLock lock(mutex_);
  ++counts_.asked;
  const auto block = entry.blocks.find(sample / kBlockSamples);
  if (block == entry.blocks.end()) return 0;
  const std::span<const std::byte> bytes = block->second.bytes;
  const uint64_t place = sample % kBlockSamples;
  const uint32_t length = LengthAt(bytes, place);
  const uint64_t from = kBlockSamples * sizeof(uint16_t) + place * entry.place.room;
  std::ranges::copy(bytes.subspan(from, length), into.begin());
  if (length > 0) ++counts_.found;
  return length;
}

void CheckpointStore::Put(ShelfEntry& entry, uint64_t sample, std::span<const std::byte> bytes) {
  const base::MutexLock lock(mutex_);
  const uint64_t number = sample / kBlockSamples;
  if (bytes.empty() && !entry.blocks.contains(number)) return;
  ShelfEntry::KeptBlock* const block = Make(entry, number);
  if (block == nullptr) {
    ++counts_.refused;
    return;
  }
  Store(block->bytes, sample % kBlockSamples, entry.place.room, bytes);
  Changed(entry, number);
}

void CheckpointStore::Changed(ShelfEntry& entry, uint64_t number) {
  ShelfEntry::KeptBlock& block = entry.blocks.at(number);
  if (block.changed || !is_written_) return;
  block.changed = true;
  changed_.emplace_back(entry.place.key, number);
}

ShelfEntry::KeptBlock* CheckpointStore::Make(ShelfEntry& entry, uint64_t number) {
  if (const auto known = entry.blocks.find(number); known != entry.blocks.end())
    return &known->second;
  const uint64_t bytes = BlockBytes(entry.place.room);
  if (!MakeRoom(entry, bytes)) return nullptr;
  ShelfEntry::KeptBlock& block = entry.blocks[number];
  block.bytes.resize(bytes);
  counts_.bytes += bytes;
  return &block;
}

bool CheckpointStore::MakeRoom(const ShelfEntry& entry, uint64_t bytes) {
  while (counts_.bytes + bytes > max_bytes_) {
    if (!DropOfClosed() && !DropOfAnother(entry, bytes)) return false;
  }
  return true;
}

bool CheckpointStore::DropOfClosed() {
  auto oldest = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->second.shelves > 0) continue;
    if (oldest == entries_.end() || at->second.closed < oldest->second.closed) oldest = at;
  }
  if (oldest == entries_.end()) return false;
  ShelfEntry& entry = oldest->second;
  for (int i = 0; i < kMostDropped && !entry.blocks.empty(); ++i) DropBlock(entry);
  entry.was_dropped_from = true;
  if (entry.blocks.empty()) entries_.erase(oldest);
  return true;
}

std::map<uint32_t, uint64_t> CheckpointStore::BytesByUser() const {
  std::map<uint32_t, uint64_t> bytes;
  for (const auto& [key, entry] : entries_)
    bytes[key.user] += entry.blocks.size() * BlockBytes(entry.place.room);
  return bytes;
}

// All shelves are open.
bool CheckpointStore::DropOfAnother(const ShelfEntry& entry, uint64_t bytes) {
  const std::map<uint32_t, uint64_t> held = BytesByUser();
  const uint64_t share = max_bytes_ / held.size();
  const uint32_t user = entry.place.key.user;
  if (held.at(user) + bytes > share) return false;
  const auto most = std::ranges::max_element(
      held, {}, [](const std::pair<const uint32_t, uint64_t>& each) { return each.second; });
  if (most->first == user) return false;
  for (auto& [key, other] : entries_) {
    if (key.user != most->first || other.blocks.empty()) continue;
    DropBlock(other);
    other.was_dropped_from = true;
    return true;
  }
  return false;
}

void CheckpointStore::DropBlock(ShelfEntry& entry) {
  entry.blocks.erase(entry.blocks.begin());
  counts_.bytes -= BlockBytes(entry.place.room);
}

CheckpointStore::Counts CheckpointStore::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

void CheckpointStore::BeWritten(bool is_written) {
  const base::MutexLock lock(mutex_);
  is_written_ = is_written;
  if (!is_written) changed_.clear();
}

std::optional<ShelfPlace> CheckpointStore::AwaitOpened(base::Duration patience) {
  const base::TimePoint end = base::Now() + patience;
  const base::MutexLock lock(mutex_);
  while (news_.empty() && !ended_ && base::Now() < end) opened_.WaitFor(mutex_, end - base::Now());
  if (news_.empty() || ended_) return std::nullopt;
  const ShelfPlace place = news_.front();
  news_.pop_front();
  return place;
}

void CheckpointStore::EndWaiting() {
  const base::MutexLock lock(mutex_);
  ended_ = true;
  opened_.NotifyAll();
}

bool CheckpointStore::is_ended() const {
  const base::MutexLock lock(mutex_);
  return ended_;
}

std::optional<CheckpointStore::BlockCopy> CheckpointStore::TakeChanged() {
  const base::MutexLock lock(mutex_);
  while (!changed_.empty()) {
    const auto [key, number] = changed_.front();
    changed_.pop_front();
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) continue;
    const auto block = entry->second.blocks.find(number);
    if (block == entry->second.blocks.end() || !block->second.changed) continue;
    block->second.changed = false;
    return BlockCopy{entry->second.place, number, block->second.bytes};
  }
  return std::nullopt;
}

void CheckpointStore::PutBack(const BlockCopy& block) {
  const base::MutexLock lock(mutex_);
  const auto entry = entries_.find(block.place.key);
  if (entry != entries_.end() && entry->second.blocks.contains(block.number))
    Changed(entry->second, block.number);
}

bool CheckpointStore::Fill(const ShelfPlace& place, uint64_t number,
                           std::span<const std::byte> bytes) {
  const base::MutexLock lock(mutex_);
  const auto at = entries_.find(place.key);
  const bool fits = at != entries_.end() && at->second.shelves > 0 &&
                    at->second.place.room == place.room && bytes.size() == BlockBytes(place.room);
  if (!fits) return false;
  ShelfEntry::KeptBlock* const block = Make(at->second, number);
  if (block == nullptr) return false;
  for (uint64_t sample = 0; sample < kBlockSamples; ++sample) {
    const uint16_t length = LengthAt(bytes, sample);
    if (length == 0 || length > place.room || LengthAt(block->bytes, sample) != 0) continue;
    const uint64_t from = kBlockSamples * sizeof(uint16_t) + sample * place.room;
    Store(block->bytes, sample, place.room, bytes.subspan(from, length));
  }
  return true;
}

}  // namespace penstock::checkpoints
