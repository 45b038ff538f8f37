#include "server/kept/row_writer.h"

#include <pthread.h>

#include <utility>

#include "common/telemetry/log.h"

namespace penstock::kept {

RowWriter::RowWriter(Options options) : options_(std::move(options)), thread_([this] { Work(); }) {}

RowWriter::~RowWriter() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
  const base::MutexLock lock(mutex_);
  for (const WriterTask& task : waiting_) task.file->GiveUp();
}

bool RowWriter::HasRoomFor(uint64_t bytes) const {
  const base::MutexLock lock(mutex_);
  return bytes_ + bytes <= options_.most_waiting && base::Now() >= paused_until_;
}

void RowWriter::Submit(std::shared_ptr<const MemoryRow> row, std::shared_ptr<RowFile> file,
                       Written written) {
  Add({.row = std::move(row), .file = std::move(file), .written = std::move(written), .gone = {}});
}

void RowWriter::LetGo(std::shared_ptr<const KeptRow> row, std::shared_ptr<RowFile> file) {
  Add({.row = {}, .file = std::move(file), .written = {}, .gone = std::move(row)});
}

void RowWriter::Add(WriterTask task) {
  {
    const base::MutexLock lock(mutex_);
    if (task.row != nullptr) bytes_ += task.row->bytes();
    waiting_.push_back(std::move(task));
  }
  changed_.NotifyAll();
}

void RowWriter::Work() {
  ::pthread_setname_np(::pthread_self(), "kept-write");
  if (const absl::Status usable = RowFile::Check(options_.folder); !usable.ok()) Pause(usable);
  for (WriterTask next; Next(next); next = {}) {
    if (next.row == nullptr) continue;
    const uint64_t bytes = next.row->bytes();
    next.written(Write(next));
    next = {};
    const base::MutexLock lock(mutex_);
    bytes_ -= bytes;
  }
}

bool RowWriter::Next(WriterTask& next) {
  const base::MutexLock lock(mutex_);
  while (waiting_.empty() && !stopping_) changed_.Wait(mutex_);
  if (stopping_) return false;
  next = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

std::shared_ptr<const KeptRow> RowWriter::Write(const WriterTask& next) {
  absl::StatusOr<std::shared_ptr<const KeptRow>> written = next.file->Write(*next.row);
  if (written.ok()) return *std::move(written);
  Pause(written.status());
  return nullptr;
}

void RowWriter::Pause(const absl::Status& why) {
  PENSTOCK_LOG(kWarning, "kept_rows_not_written", {"folder", options_.folder},
               {"reason", why.message()});
  const base::MutexLock lock(mutex_);
  paused_until_ = base::Now() + options_.pause;
}

}  // namespace penstock::kept
