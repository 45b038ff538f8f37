// What penstockctl's help and manual pages say about each command. Plain data.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock::ctl {

struct HelpOption {
  const char* form;  // "--deadline TIME"
  const char* what;  // a phrase: unit and default included
};

struct HelpExample {
  const char* line;
  const char* what;  // a phrase
};

struct HelpTopic {
  const char* name;     // the command's first word
  const char* summary;  // a phrase, without a full stop
  std::vector<const char*>
      usage;  // "quarantine list [DATASET]", without the options of all commands
  std::vector<const char*> paragraphs;
  std::vector<HelpOption> options = {};  // of this command alone
  std::vector<HelpExample> examples = {};
};

const std::vector<HelpTopic>& HelpTopics();
// Null if there is none.
const HelpTopic* FindHelpTopic(absl::string_view name);

}  // namespace penstock::ctl
