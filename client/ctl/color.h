// Colours on a terminal, and when there are none. Pure.
#pragma once

#include <string>

namespace penstock::ctl {

enum class ColorWish { kAuto, kAlways, kNever };  // --color
enum class Colors { kNo, kYes };

struct Screen {
  bool terminal = false;  // standard output is one
  std::string no_color;   // $NO_COLOR: any text means none (https://no-color.org)
  std::string kind;       // $TERM
};

// What was asked for on the command line goes before the surroundings.
Colors ChooseColors(ColorWish wish, const Screen& screen);

// The text of `check`: a line's grade, in front.
std::string PaintGrades(const std::string& text, Colors colors);

// The text of `status` and `top`: tables' titles, and a daemon that does not serve.
std::string PaintStates(const std::string& text, Colors colors);

}  // namespace penstock::ctl
