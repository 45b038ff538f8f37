// What completes penstockctl's words in a shell: scripts made of command_table.h, so that none can
// know less or more than the program. Datasets' names are asked of the daemon, if one answers
// within 2 s. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/ctl/command_table.h"

namespace penstock::ctl {

// One of kShells.
std::string Completion(const std::string& shell);

std::string BashCompletion();
std::string ZshCompletion();
std::string FishCompletion();

// What of the table several of them need.

// The first words of the commands, each once: "quarantine" has two commands.
std::vector<std::string> FirstWords();
// What stands behind "quarantine"; none behind others.
std::vector<const CommandForm*> SecondWords(const std::string& first);
// The commands that a dataset's name goes with; all of them have one or two words.
std::vector<std::string> CommandsWithDatasets();
// Names and letters of the options for which this holds.
std::vector<std::string> NamesOf(const std::function<bool(const OptionForm&)>& which);
// The commands that have options of their own.
std::vector<std::string> CommandsWithOptions();

// As an argument of `sed -n`: a dataset's name out of the JSON of `penstockctl datasets`. None that
// a shell would read as anything else than a name.
inline constexpr char kNameOfJson[] = R"sed(s/^ *"name": "\([A-Za-z0-9._\/-]*\)",\{0,1\}$/\1/p)sed";

}  // namespace penstock::ctl
