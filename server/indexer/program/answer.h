// The indexer's side of an answer: collects its bytes in the window, and hands it over piece by
// piece.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"
#include "server/indexer/wire/answer_stream.h"
#include "server/indexer/wire/wire.h"

namespace penstock::indexer {

// The daemon's socket and the window.
struct DaemonLine {
  posix::Fd socket;
  posix::Mapping window;

  // The next message. **Errors**: Unavailable once the daemon has closed its end.
  absl::StatusOr<posix::Message> Next() const;
  // Waits while the daemon has not read earlier ones.
  absl::Status Say(const Tell& tell) const;
};

class Answer final : public AnswerSink {
 public:
  Answer(const DaemonLine& line, uint64_t number) : line_(line), number_(number) {}

  // Hands the window over when it is full, and waits until the daemon has taken it.
  absl::Status Put(std::span<const std::byte> bytes) override;
  absl::Status End();
  // Reports that `more` samples were found. Never waits.
  void Found(uint64_t more) const;
  // Reports where a member or a record lies. Waits while the daemon has not read earlier messages.
  void Place(uint64_t offset, uint64_t bytes) const;

 private:
  absl::Status HandOver();

  const DaemonLine& line_;
  const uint64_t number_;
  size_t filled_ = 0;
};

}  // namespace penstock::indexer
