// Splits the arguments of a program into words and options. All of our programs use it; each says
// which options it has, and gives words and values their meaning.
//
// The grammar: `--name VALUE`, `--name=VALUE`, or `--name` for a switch; some options have a letter
// (`-o VALUE`). Options may stand before, between and after words. A value that begins with "--"
// needs the form with '=', so that a forgotten value does not swallow the next option. After "--"
// everything is a word; "-" is a word, too.
//
// server/decisions/command-lines.md says why this is neither Abseil's flags nor CLI11.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::base {

enum class OptionKind {
  kValue,   // takes a value, which is not empty
  kSwitch,  // takes none
  kFinal,   // a switch that ends the parsing: --help, --version
};

struct Option {
  std::string name;  // "--output"
  OptionKind kind = OptionKind::kValue;
  std::string letter = {};  // "-o"; empty: none
};

struct GivenOption {
  std::string name;   // the long name, also where the letter was given
  std::string value;  // empty for a switch

  bool operator==(const GivenOption&) const = default;
};

struct GivenArguments {
  std::vector<std::string> words;
  std::vector<GivenOption> options;  // in order; an option given twice is in it twice
  std::string final_option = {};     // the kFinal option that ended the parsing; empty: none
};

// `arguments` are those after the program's name. **Errors**: InvalidArgument for an unknown option
// or a missing value, in one line that ends with "see 'PROGRAM --help'".
absl::StatusOr<GivenArguments> SplitArguments(std::span<const std::string> arguments,
                                              std::span<const Option> options,
                                              const std::string& program);

}  // namespace penstock::base
