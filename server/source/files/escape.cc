#include "server/source/files/escape.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "server/source/files/python_order.h"

namespace penstock::source {

std::string EscapeForDisplay(const std::string& text) {
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](char c) { return absl::ascii_iscntrl(c); });
  return IsUtf8(text) && !has_control ? text : absl::CHexEscape(text);
}

}  // namespace penstock::source
