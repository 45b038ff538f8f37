#include "common/sandbox/last_words.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "common/sandbox/sandbox.h"

namespace penstock::sandbox {
namespace {

constexpr size_t kMostWords = 1024;

std::string Printable(absl::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string printable(text);
  for (char& each : printable)
    if (each < ' ' || each > '~') each = each == '\n' ? '|' : '?';
  return printable;
}

}  // namespace

absl::StatusOr<LastWords> LastWords::Make() {
  LastWords words;
  if (kIsInstrumented) return words;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return base::ErrnoStatus(errno, "making a pipe for standard error");
  words.reading_ = posix::Fd(ends[0]);
  words.writing_ = posix::Fd(ends[1]);
  return words;
}

std::optional<posix::Child::Inherited> LastWords::ForChild() const {
  if (!writing_.valid()) return std::nullopt;
  return posix::Child::Inherited{writing_.get(), STDERR_FILENO};
}

std::string LastWords::Take() {
  const posix::Fd reading = std::move(reading_);
  char text[kMostWords];
  const ssize_t got = reading.valid() ? ::read(reading.get(), text, sizeof(text)) : 0;
  return got > 0 ? Printable({text, static_cast<size_t>(got)}) : "";
}

}  // namespace penstock::sandbox
