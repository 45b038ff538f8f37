// Reads the daemon's questions and answers them.
// **Thread safety**: one thread.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "common/posix/socket.h"
#include "server/indexer/program/answer.h"
#include "server/indexer/program/remote_bytes.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

struct Asked {
  Ask ask = {};
  std::array<std::string, kTexts> texts = {};
};
// **Errors**: Internal if this build's daemon cannot have sent the message.
absl::StatusOr<Asked> ReadAsk(const posix::Message& message);

// Waits until the socket takes another message, or its other end is closed.
void WaitWritable(const posix::Fd& socket);

class Questions {
 public:
  explicit Questions(const DaemonLine& line);

  // Answers questions until an error: Unavailable once the daemon has closed its end, Internal if
  // it sent an invalid message.
  absl::Status AnswerAll();

 private:
  absl::Status AnswerOne(posix::Message message);
  absl::Status AnswerScan(const Asked& asked, Answer& answer);
  absl::Status AnswerList(const Asked& asked, Answer& answer);
  absl::Status AnswerCoco(const Asked& asked, Answer& answer);
  absl::Status AnswerMegatron(const Asked& asked, Answer& answer);
  absl::Status AnswerIdx(const Asked& asked, Answer& answer);
  absl::Status AnswerIndexFile(const Asked& asked, Answer& answer);
  absl::Status AnswerUnpack(const Asked& asked, Answer& answer);
  source::ForeignFile File(const Asked& asked) const;
  source::ForeignFile Second(const Asked& asked) const;

  const DaemonLine& line_;
  const std::shared_ptr<source::Parsers> parsers_;
  posix::Fd file_, second_;                         // of the last question that came with files
  std::optional<RemoteBytes> remote_;               // of the current question, in place of file_
  std::unique_ptr<source::UnpackedFile> unpacked_;  // of file_
};

}  // namespace penstock::indexer
