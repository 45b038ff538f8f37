#include "client/ctl/color.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace penstock::ctl {
namespace {

constexpr char kRed[] = "\x1b[31m", kGreen[] = "\x1b[32m", kYellow[] = "\x1b[33m";
constexpr char kBold[] = "\x1b[1m", kPlain[] = "\x1b[0m";

std::string Painted(absl::string_view color, absl::string_view text) {
  return absl::StrCat(color, text, kPlain);
}

// A table's title line: at least two columns, all in capitals, such as "FEED  DATASET  SAMPLES/S".
bool IsTitle(absl::string_view line) {
  return absl::StrContains(line, "  ") && std::all_of(line.begin(), line.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return absl::ascii_isupper(byte) || c == ' ' || c == '/' || c == '%';
         });
}

template <typename PaintLine>
std::string ByLines(const std::string& text, const PaintLine& paint) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines) line = paint(line);
  return absl::StrJoin(lines, "\n");
}

std::string PaintGrade(const std::string& line) {
  static constexpr struct {
    absl::string_view word;
    const char* color;
  } kGrades[] = {{"ok", kGreen}, {"warning", kYellow}, {"problem", kRed}};
  for (const auto& [word, color] : kGrades)
    if (absl::StartsWith(line, absl::StrCat(word, "  ")))
      return absl::StrCat(Painted(color, word), line.substr(word.size()));
  return IsTitle(line) ? Painted(kBold, line) : line;
}

std::string PaintState(const std::string& line) {
  if (IsTitle(line)) return Painted(kBold, line);
  if (!absl::StartsWith(line, "penstockd ")) return line;
  return absl::StrReplaceAll(
      line, {{"NOT SERVING", Painted(kRed, "NOT SERVING")},
             {", draining,", absl::StrCat(", ", Painted(kYellow, "draining"), ",")}});
}

}  // namespace

Colors ChooseColors(ColorChoice choice, const Screen& screen) {
  if (choice != ColorChoice::kAuto)
    return choice == ColorChoice::kAlways ? Colors::kYes : Colors::kNo;
  const bool can = screen.terminal && !screen.kind.empty() && screen.kind != "dumb";
  return can && screen.no_color.empty() ? Colors::kYes : Colors::kNo;
}

std::string PaintGrades(const std::string& text, Colors colors) {
  return colors == Colors::kYes ? ByLines(text, PaintGrade) : text;
}

std::string PaintStates(const std::string& text, Colors colors) {
  return colors == Colors::kYes ? ByLines(text, PaintState) : text;
}

}  // namespace penstock::ctl
