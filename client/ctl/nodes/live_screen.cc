#include "client/ctl/nodes/live_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <iterator>

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

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

// The terminal as it was, for the signal handler, which has no other way to it.
termios terminal_before = {};

// Gives the terminal back, and lets the signal end the program as it would have. Async-signal-safe.
void RestoreAndEnd(int signal) {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, kLeave, sizeof(kLeave) - 1);
  ::raise(signal);  // SA_RESETHAND: by the default action, once this handler returns
}

}  // namespace

bool IsLive() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

LiveScreen::LiveScreen(std::ostream& out) : out_(out) {
  ::tcgetattr(STDIN_FILENO, &before_);
  terminal_before = before_;
  struct sigaction action = {};
  action.sa_handler = RestoreAndEnd;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (size_t i = 0; i < std::size(kEnding); ++i) ::sigaction(kEnding[i], &action, &actions_[i]);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  out_ << kEnter;
}

LiveScreen::~LiveScreen() {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  out_ << kLeave << std::flush;
  for (size_t i = 0; i < std::size(kEnding); ++i) ::sigaction(kEnding[i], &actions_[i], nullptr);
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
