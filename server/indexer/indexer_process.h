// One penstock-indexer, from the daemon's side: sends it questions and takes its answers.
// Destroying the object ends the process.
//
// **Ownership**: held by one call at a time (see indexers.h). **Thread safety**: one thread at a
// time.
// **Requires**: Start is called on a thread that lives as long as the daemon, because the process
// ends with it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/process.h"
#include "common/sandbox/last_words.h"
#include "server/indexer/patience.h"
#include "server/indexer/wire/answer_stream.h"
#include "server/indexer/wire/wire.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

// The path of penstock-indexer: the folder of the running program.
std::string DefaultProgram();

// A question, and the files that it is about.
struct Question {
  Ask ask = {};
  const source::ForeignFile* file = nullptr;    // null: none is sent
  const source::ForeignFile* second = nullptr;  // null: none
  bool sends_second = false;                    // else only its path and size
  std::string image = {}, label = {};
};

class IndexerProcess final : public AnswerSource {
 public:
  // Does not wait until the program runs. **Errors**: those of Child::Spawn.
  static absl::StatusOr<std::unique_ptr<IndexerProcess>> Start(const std::string& program,
                                                               Sandboxed mode,
                                                               const PatienceLimits& limits);

  // Sends a question; Take and End then take the answer. `watch` and `closing` (true cancels) must
  // outlive the answer. **Requires**: the previous answer has been taken completely.
  absl::Status Begin(const Question& question, const source::ScanWatch& watch,
                     const std::atomic<bool>& closing);

  // **Errors**: Cancelled; Internal if the answer is too short or the process sends an invalid
  // message; DataLoss, ResourceExhausted or Unavailable, with the file's path, if the process died,
  // or had to be killed because it hangs (patience.h). After an error the process cannot be used
  // again.
  absl::Status Take(std::span<std::byte> into) override;
  // Ends the answer. **Errors**: Internal if there is more of it.
  absl::Status End();

  pid_t pid() const { return child_.pid(); }
  // Whether it waits for the next question.
  bool idle() const { return idle_; }
  // Whether its sandbox killed it.
  bool made_forbidden_call() const { return made_forbidden_call_; }

  // If it died while it was idle, of a forbidden call: reports that.
  void NoteIdleEnd();

  // Kills it and waits for its end, at most that long. A process in a read that its file server
  // does not answer ends only when the server does. Returns whether it is gone.
  bool Kill(std::chrono::milliseconds wait);
  // Whether it is gone, without waiting.
  bool IsGone() const { return posix::IsGone(child_.pidfd()); }
  // The destructor then does not wait for its end. It ends by itself.
  void Abandon() { child_.Abandon(); }

 private:
  IndexerProcess(posix::Child child, posix::Fd socket, sandbox::LastWords words,
                 posix::Mapping window, std::string program, const PatienceLimits& limits)
      : child_(std::move(child)),
        socket_(std::move(socket)),
        words_(std::move(words)),
        window_(std::move(window)),
        program_(std::move(program)),
        limits_(limits),
        patience_(limits) {}
  absl::Status Send(const Ask& ask, const std::string& texts, std::span<const int> fds);
  absl::Status AwaitPiece();
  absl::StatusOr<Tell> AwaitTell();
  absl::Status Count(uint64_t more);
  absl::Status TakePlace(const Tell& tell);
  absl::Status SendBytes(const Tell& wants);
  Patience::Look LookAt() const;
  absl::Status CheckPatience();
  absl::Status GiveUp(OutOfPatience why);
  absl::Status Died();
  absl::Status DiedOf(const std::optional<posix::Exit>& exit);
  void ReportForbiddenCall(const std::string& what);

  posix::Child child_;
  posix::Fd socket_;
  sandbox::LastWords words_;
  posix::Mapping window_;
  const std::string program_;
  const PatienceLimits limits_;
  Patience patience_;
  base::TimePoint looked_ = {};  // when patience_ was asked last
  bool idle_ = true;
  bool made_forbidden_call_ = false;
  // Of the current question:
  uint64_t number_ = 0;
  std::string path_;
  uint64_t may_find_ = 0, may_place_ = 0;
  const source::ByteSource* remote_ = nullptr;  // null: the file was sent
  uint64_t file_bytes_ = 0, may_ask_for_ = 0;   // of a remote file
  const source::ScanWatch* watch_ = nullptr;
  const std::atomic<bool>* closing_ = nullptr;
  size_t at_ = 0, end_ = 0;  // bytes of the piece in the window: taken so far, all
  bool begun_ = false, last_ = false;
};

}  // namespace penstock::indexer
