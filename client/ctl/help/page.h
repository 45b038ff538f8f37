// Prints the help for one command. Pure.
#pragma once

#include <string>

#include "client/ctl/help/topics.h"

namespace penstock::ctl {

// For a terminal, at most 80 columns wide.
std::string HelpText(const HelpTopic& topic);
// A manual page in man(7) format.
std::string ManPage(const HelpTopic& topic);

}  // namespace penstock::ctl
