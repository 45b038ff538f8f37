#include "client/ctl/top.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "client/ctl/top_view.h"
#include "client/ctl/views.h"

namespace penstock::ctl {
namespace {

constexpr uint32_t kLiveMs = 500, kOnceMs = 1000;
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";  // alternate screen, hidden cursor
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H", kRestOfLine[] = "\x1b[K", kRestOfScreen[] = "\x1b[J";

// Switches the terminal to deliver single key presses; the destructor restores it.
class Keys {
 public:
  Keys() {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys() { ::tcsetattr(STDIN_FILENO, TCSANOW, &before_); }

  std::optional<char> Pressed() {
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    char key = 0;
    if (::poll(&input, 1, 0) <= 0 || ::read(STDIN_FILENO, &key, 1) != 1) return std::nullopt;
    return key;
  }

 private:
  termios before_ = {};
};

TopScreen ScreenNow() {
  winsize size = {};
  ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return {.rows = size.ws_row, .columns = size.ws_col, .keys = true};
}

std::string Drawn(const std::string& text) {
  std::string drawn = kHome;
  for (const char c : text) {
    if (c == '\n') drawn += kRestOfLine;
    drawn += c;
  }
  if (!drawn.empty()) drawn.pop_back();  // a final newline would scroll a full screen
  return drawn + kRestOfScreen;
}

v1::WatchStatusRequest Every(uint32_t ms) {
  v1::WatchStatusRequest request;
  request.set_interval_ms(ms);
  return request;
}

absl::StatusOr<int> Live(AdminClient& daemon, Colors colors, std::ostream& out) {
  Keys keys;
  out << kEnter;
  std::optional<v1::WatchStatusResponse> before;
  TopOrder order = TopOrder::kById;
  const absl::Status end =
      daemon.WatchStatus(Every(kLiveMs), [&](const v1::WatchStatusResponse& now) {
        while (const auto key = keys.Pressed()) {
          if (*key == 'q' || *key == 'Q' || *key == 3) return false;
          if (*key == 's') order = Next(order);
        }
        TopScreen screen = ScreenNow();
        screen.order = order;
        out << Drawn(PaintStates(ShowTop(now, before.value_or(now), screen), colors)) << std::flush;
        before = now;
        return true;
      });
  out << kLeave << std::flush;
  PENSTOCK_RETURN_IF_ERROR(end);
  return 0;
}

absl::StatusOr<int> Once(AdminClient& daemon, Output output, Colors colors, std::ostream& out) {
  std::optional<v1::WatchStatusResponse> before;
  PENSTOCK_RETURN_IF_ERROR(
      daemon.WatchStatus(Every(kOnceMs), [&](const v1::WatchStatusResponse& now) {
        if (output == Output::kJson) {
          out << Json(now);
          return false;
        }
        const bool first = !before.has_value();
        if (!first) out << PaintStates(ShowTop(now, *before, {}), colors);
        before = now;
        return first;
      }));
  return 0;
}

}  // namespace

absl::StatusOr<int> RunTop(AdminClient& daemon, const Call& call, Colors colors,
                           std::ostream& out) {
  const bool live = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (live && call.output == Output::kTable) return Live(daemon, colors, out);
  return Once(daemon, call.output, colors, out);
}

}  // namespace penstock::ctl
