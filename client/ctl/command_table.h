// All commands and options of penstockctl: the parser's table, with which tests compare the help
// and the scripts in completions/. Plain data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/ctl/command_line.h"

namespace penstock::ctl {

// The argument that a command takes after its own words.
enum class Word { kNone, kMaybeDataset, kDataset, kShell, kMaybeFolder, kMaybeTopic };

struct CommandForm {
  const char* words;  // "status", "quarantine list"
  Command command;
  Word word;
};

// The kind of value that an option takes.
enum class Value { kNone, kText, kFile, kFormat, kColor, kCondition };

struct OptionForm {
  const char* name;    // "--output"
  const char* letter;  // "-o"; "": none
  Value value;
  const char* only_with;  // the commands that take it, parted by commas; "": all
};

std::span<const CommandForm> Commands();
std::span<const OptionForm> Options();

// Null if there is none.
const CommandForm* FindCommand(const std::string& words);
const OptionForm* FindOption(const std::string& name_or_letter);

// Whether the command takes this option, which not all do.
bool IsOwnOption(const OptionForm& option, const std::string& command);

inline constexpr const char* kFormats[] = {"table", "json", "yaml"};
inline constexpr const char* kConditions[] = {"ready"};
inline constexpr const char* kColorChoices[] = {"auto", "always", "never"};
inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};

}  // namespace penstock::ctl
