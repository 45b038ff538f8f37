#include "client/ctl/nodes/live_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace penstock::ctl {
namespace {

constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";  // alternate screen, hidden cursor
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H", kRestOfLine[] = "\x1b[K", kRestOfScreen[] = "\x1b[J";

std::string Drawn(const std::string& text) {
  std::string drawn = kHome;
  for (const char c : text) {
    if (c == '\n') drawn += kRestOfLine;
    drawn += c;
  }
  if (!drawn.empty()) drawn.pop_back();  // a final newline would scroll a full screen
  return drawn + kRestOfScreen;
}

}  // namespace

bool IsLive() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

LiveScreen::LiveScreen(std::ostream& out) : out_(out) {
  ::tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  out_ << kEnter;
}

LiveScreen::~LiveScreen() {
  out_ << kLeave << std::flush;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

LiveScreen::Size LiveScreen::SizeNow() {
  winsize size = {};
  ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return {.rows = size.ws_row, .columns = size.ws_col};
}

std::optional<char> LiveScreen::Pressed() {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char key = 0;
  if (::poll(&input, 1, 0) <= 0 || ::read(STDIN_FILENO, &key, 1) != 1) return std::nullopt;
  return key;
}

void LiveScreen::Wait(uint32_t ms) {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  ::poll(&input, 1, static_cast<int>(ms));
}

void LiveScreen::Draw(const std::string& text) { out_ << Drawn(text) << std::flush; }

}  // namespace penstock::ctl
