// Every command and every option that penstockctl has: what the command line is read by, and what
// the shells' completions are made of. Plain data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/ctl/command_line.h"

namespace penstock::ctl {

// What stands behind a command's own words.
enum class Word { kNone, kMaybeDataset, kDataset, kShell };

struct CommandForm {
  const char* words;  // "status", "quarantine list"
  Command command;
  Word word;
  const char* what;  // a line without quotes, brackets and colons: shells give them a meaning
};

// What an option wants behind it.
enum class Value { kNone, kText, kFile, kFormat, kColor };

struct OptionForm {
  const char* name;    // "--output"
  const char* letter;  // "-o"; "" without
  Value value;
  const char* value_name;  // "PATH"; "" without
  const char* only_with;   // a command's words; "": all of them
  const char* what;
};

std::span<const CommandForm> Commands();
std::span<const OptionForm> Options();

// Null where there is none.
const CommandForm* FindCommand(const std::string& words);
const OptionForm* FindOption(const std::string& name_or_letter);

inline constexpr const char* kFormats[] = {"table", "json"};
inline constexpr const char* kColorWishes[] = {"auto", "always", "never"};
inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};

}  // namespace penstock::ctl
