// Escapes names from file systems and archives for display and messages. Pure.
#pragma once

#include <string>

namespace penstock::source {

// Returns valid UTF-8 without control characters, as protobuf messages require: the text itself if
// it already is, else with the offending bytes escaped.
std::string EscapeForDisplay(const std::string& text);

}  // namespace penstock::source
