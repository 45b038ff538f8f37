// Completion scripts for shells, generated from command_table.h so that they always match the
// program. They ask the daemon for dataset names, if it answers within 2 s. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/ctl/command_table.h"

namespace penstock::ctl {

// `shell` is one of kShells.
std::string Completion(const std::string& shell);

std::string BashCompletion();
std::string ZshCompletion();
std::string FishCompletion();

// Parts of the table that several scripts use.

// The first words of all commands, each once: "quarantine" has two commands.
std::vector<std::string> FirstWords();
// The commands that begin with `first` and have a second word: those of "quarantine".
std::vector<const CommandForm*> SecondWords(const std::string& first);
// The commands that take a dataset's name; each has one or two words.
std::vector<std::string> CommandsWithDatasets();
// Names and letters of the options that satisfy `which`.
std::vector<std::string> NamesOf(const std::function<bool(const OptionForm&)>& which);
// The commands with options of their own.
std::vector<std::string> CommandsWithOptions();

// A `sed -n` script that extracts dataset names from the JSON of `penstockctl datasets`. Skips
// names with characters that a shell could interpret.
inline constexpr char kNameOfJson[] = R"sed(s/^ *"name": "\([A-Za-z0-9._\/-]*\)",\{0,1\}$/\1/p)sed";

}  // namespace penstock::ctl
