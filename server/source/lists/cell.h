// One value of a list's row, as text.
#pragma once

#include <string>

namespace penstock::source {

struct ListCell {
  std::string text = {};
  bool is_text = false;  // the format says that it is no number (a string of JSON)
};

}  // namespace penstock::source
