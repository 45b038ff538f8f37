// A terminal on which `top` draws again and again, and whose keys it reads.
// **Thread safety**: one thread. **Ownership**: at most one at a time.
#pragma once

#include <signal.h>
#include <termios.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace penstock::ctl {

// Whether standard input and output are a terminal.
bool IsLive();

class LiveScreen {
 public:
  struct Size {
    uint32_t rows = 0, columns = 0;
  };

  // Switches to the alternate screen and to single key presses; the destructor restores both, and
  // so does a signal that ends the program.
  explicit LiveScreen(std::ostream& out);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  static Size SizeNow();
  // The next key that was pressed, if any. Never waits.
  std::optional<char> Pressed();
  // Waits until a key is pressed, at most for this time.
  void Wait(uint32_t ms);
  // Replaces the screen by this text, which fits it.
  void Draw(const std::string& text);

 private:
  std::ostream& out_;
  termios before_ = {};
  struct sigaction actions_[3] = {};  // those of SIGINT, SIGTERM and SIGHUP before
};

// Whether this key ends `top`: q or Q, or Ctrl-C where the terminal makes no signal of it.
inline bool IsQuit(char key) { return key == 'q' || key == 'Q' || key == 3; }

}  // namespace penstock::ctl
