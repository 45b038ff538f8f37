#include "tests/bench/pillow/pillow.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "common/posix/process.h"
#include "tests/bench/harness/interrupt.h"
#include "tests/bench/pillow_script.h"

namespace penstock::bench {
namespace {

// Debian's Python: its Pillow uses the same libjpeg-turbo as we do.
constexpr char kPython[] = "/usr/bin/python3";

constexpr int kCommandsNumber = 3;  // in the child
constexpr int kAnswersNumber = 4;

struct Pipe {
  posix::Fd reading, writing;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoStatus(errno, "creating a pipe");
  return Pipe{posix::Fd(ends[0]), posix::Fd(ends[1])};
}

class PythonProcess final : public Pillow {
 public:
  PythonProcess(posix::Child child, posix::Fd commands, posix::Fd answers)
      : child_(std::move(child)), commands_(std::move(commands)), answers_(std::move(answers)) {}

  absl::Status Write(absl::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(commands_.get(), text.data(), text.size());
      PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return base::ErrnoStatus(errno, absl::StrCat("writing to ", kPython));
      text.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }

  // Reads one line, without its newline.
  absl::StatusOr<std::string> Read() {
    std::string line;
    for (;;) {
      char letter;
      const ssize_t got = ::read(answers_.get(), &letter, 1);
      PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return absl::UnavailableError(absl::StrCat(kPython, " ended too early"));
      if (letter == '\n') return line;
      line += letter;
    }
  }

  absl::StatusOr<double> Run() override {
    PENSTOCK_RETURN_IF_ERROR(Write("run\n"));
    PENSTOCK_ASSIGN_OR_RETURN(const std::string answer, Read());
    double seconds = 0;
    if (absl::SimpleAtod(answer, &seconds) && seconds > 0) return seconds;
    return absl::InternalError(
        absl::StrCat(kPython, " gave no time: got '", answer, "', expected seconds"));
  }

 private:
  const posix::Child child_;
  const posix::Fd commands_, answers_;
};

std::string Lines(const std::vector<PillowCrop>& crops) {
  std::string lines;
  for (const PillowCrop& crop : crops) {
    const decode::Box& box = crop.draw.crop;
    absl::StrAppend(&lines, box.x, " ", box.y, " ", box.width, " ", box.height, " ",
                    crop.draw.flip ? 1 : 0, " ", crop.path, "\n");
  }
  return absl::StrCat(lines, "\n");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pillow>> Pillow::Start(const decode::Spec& spec,
                                                      const std::vector<PillowCrop>& crops) {
  if (::access(kPython, X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat("there is no ", kPython));
  }
  PENSTOCK_ASSIGN_OR_RETURN(Pipe commands, MakePipe());
  PENSTOCK_ASSIGN_OR_RETURN(Pipe answers, MakePipe());
  PENSTOCK_ASSIGN_OR_RETURN(
      posix::Child child,
      posix::Child::Spawn(
          {kPython, "-c", kPillowScript, absl::StrCat(spec.width), absl::StrCat(spec.height)},
          {{commands.reading.get(), kCommandsNumber}, {answers.writing.get(), kAnswersNumber}}));
  commands.reading.Close();
  answers.writing.Close();
  auto process = std::make_unique<PythonProcess>(std::move(child), std::move(commands.writing),
                                                 std::move(answers.reading));
  // A process without Pillow does not read; it has reported that before it exited.
  const absl::Status told = process->Write(Lines(crops));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string answer, process->Read());
  if (absl::string_view why = answer; absl::ConsumePrefix(&why, "missing ")) {
    return absl::UnavailableError(
        absl::StrCat("no Pillow for ", kPython, " (", why, "); install python3-pil"));
  }
  PENSTOCK_RETURN_IF_ERROR(told);
  return process;
}

}  // namespace penstock::bench
