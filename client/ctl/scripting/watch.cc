#include "client/ctl/scripting/watch.h"

#include <optional>
#include <thread>

#include "client/ctl/nodes/live_screen.h"
#include "client/ctl/top_view.h"

namespace penstock::ctl {
namespace {

constexpr uint32_t kEveryMs = 2000;

absl::StatusOr<int> Draw(const std::function<absl::StatusOr<std::string>()>& ask,
                         std::ostream& out) {
  LiveScreen screen(out);
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ask());
    const LiveScreen::Size size = LiveScreen::SizeNow();
    screen.Draw(FitToScreen(text, {.rows = size.rows, .columns = size.columns}));
    screen.Wait(kEveryMs);
    while (const auto key = screen.Pressed())
      if (IsQuit(*key)) return 0;
  }
}

}  // namespace

absl::StatusOr<int> PrintChanges(const std::function<absl::StatusOr<std::string>()>& ask,
                                 Output output, std::ostream& out,
                                 const std::function<bool()>& pause) {
  std::optional<std::string> last;
  do {
    PENSTOCK_ASSIGN_OR_RETURN(std::string text, ask());
    if (last == text) continue;
    if (last) out << (output == Output::kTable ? "\n" : output == Output::kYaml ? "---\n" : "");
    out << text << std::flush;
    last = std::move(text);
  } while (out && pause());
  return 0;
}

absl::StatusOr<int> Watch(const std::function<absl::StatusOr<std::string>()>& ask, Output output,
                          std::ostream& out) {
  if (IsLive() && output == Output::kTable) return Draw(ask, out);
  return PrintChanges(ask, output, out, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(kEveryMs));
    return true;
  });
}

}  // namespace penstock::ctl
