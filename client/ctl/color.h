// Colors in terminal output, and the decision whether to use them. Pure.
#pragma once

#include <string>

namespace penstock::ctl {

enum class ColorChoice { kAuto, kAlways, kNever };  // --color
enum class Colors { kNo, kYes };

struct Screen {
  bool terminal = false;  // standard output is a terminal
  std::string no_color;   // $NO_COLOR: if not empty, no colors (https://no-color.org)
  std::string kind;       // $TERM
};

// The command line takes precedence over the environment.
Colors ChooseColors(ColorChoice choice, const Screen& screen);

// For the text of `check`: colors the grade at the start of each line.
std::string PaintGrades(const std::string& text, Colors colors);

// For the text of `status` and `top`: emphasizes table titles and a daemon that does not serve.
std::string PaintStates(const std::string& text, Colors colors);

}  // namespace penstock::ctl
