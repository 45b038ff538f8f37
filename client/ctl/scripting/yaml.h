// Answers as YAML: what the JSON says, in block style. Pure.
#pragma once

#include <string>

#include "client/ctl/command_line.h"

namespace penstock::ctl {

// **Requires**: `json` is one JSON value.
std::string ToYaml(const std::string& json);

inline bool IsForPrograms(Output output) { return output != Output::kTable; }

// An answer's JSON in the form that a program asked for. **Requires**: IsForPrograms(output).
std::string ForPrograms(Output output, const std::string& json);

}  // namespace penstock::ctl
