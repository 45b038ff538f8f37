// What the daemon asks, and answering it.
// **Thread safety**: one thread.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "common/posix/socket.h"
#include "server/indexer/program/answer.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

struct Asked {
  Ask ask = {};
  std::array<std::string, kTexts> texts = {};
};
// **Errors**: Internal if the message is none of this build.
absl::StatusOr<Asked> ReadAsk(const posix::Message& message);

// Waits until the socket takes another message, or its other end is closed.
void WaitWritable(const posix::Fd& socket);

class Questions {
 public:
  explicit Questions(const DaemonLine& line);

  // Answers until the daemon closes its end (Unavailable), or what it says makes no sense.
  absl::Status AnswerAll();

 private:
  absl::Status AnswerOne(posix::Message message);
  absl::Status AnswerScan(const Asked& asked, Answer& answer);
  absl::Status AnswerMegatron(const Asked& asked, Answer& answer);
  absl::Status AnswerIdx(const Asked& asked, Answer& answer);
  absl::Status AnswerUnpack(const Asked& asked, Answer& answer);
  source::ForeignFile File(const Asked& asked) const;
  source::ForeignFile Second(const Asked& asked) const;

  const DaemonLine& line_;
  const std::shared_ptr<source::Parsers> parsers_;
  posix::Fd file_, second_;                         // of the last question that had any
  std::unique_ptr<source::UnpackedFile> unpacked_;  // of file_
};

}  // namespace penstock::indexer
