// Names from file systems and archives, as people and messages may see them. Pure.
#pragma once

#include <string>

namespace penstock::source {

// The text itself where it is valid UTF-8 without control characters, which is what messages carry;
// else with those bytes escaped.
std::string ForPeople(const std::string& text);

}  // namespace penstock::source
