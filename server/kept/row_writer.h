// The thread ("kept-write") that writes rows for which memory has no room to files in a folder, and
// gives their room back. It alone waits for that storage to do so; those who bring or drop rows
// never do.
//
// **Thread safety**: any thread. The destructor waits for the row that is being written.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/kept/row_file.h"

namespace penstock::kept {

class RowWriter {
 public:
  struct Options {
    std::string folder;
    uint64_t most_waiting = uint64_t{64} << 20;       // bytes of rows
    base::Duration pause = std::chrono::seconds(60);  // after a row that could not be written
  };
  explicit RowWriter(Options options);
  ~RowWriter();

  const std::string& folder() const { return options_.folder; }
  // Whether a row of this size would be taken now.
  bool HasRoomFor(uint64_t bytes) const;

  // Writes the row to the file, then calls `written` with the row there, or with null, on the
  // thread. Rows that wait at the end are dropped, without a call.
  using Written = std::function<void(std::shared_ptr<const KeptRow>)>;
  void Submit(std::shared_ptr<const MemoryRow> row, std::shared_ptr<RowFile> file, Written written);
  // Lets go of a row (or null) and its file on the thread, before rows that are submitted later are
  // written.
  void LetGo(std::shared_ptr<const KeptRow> row, std::shared_ptr<RowFile> file);

 private:
  struct WriterTask {
    std::shared_ptr<const MemoryRow> row;  // null: there is only something to let go of
    std::shared_ptr<RowFile> file;
    Written written;
    std::shared_ptr<const KeptRow> gone;
  };
  void Add(WriterTask task);
  void Work();
  bool Next(WriterTask& next);
  std::shared_ptr<const KeptRow> Write(const WriterTask& next);
  void Pause(const absl::Status& why);

  const Options options_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::deque<WriterTask> waiting_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // of rows that wait or are being written
  base::TimePoint paused_until_ PENSTOCK_GUARDED_BY(mutex_){};
  std::thread thread_;  // declared last, because it uses all members above
};

}  // namespace penstock::kept
