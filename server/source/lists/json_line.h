// Reads one line of a file of JSON lines: an object without nested values.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/lists/cell.h"

namespace penstock::source {

struct JsonMember {
  std::string key;
  ListCell value;  // arrays, objects, true, false and null: their text or kind, as a text
};

// The object's members in their order. **Errors**: InvalidArgument, without the line, if it is no
// object, or has a key twice.
absl::Status ReadJsonLine(absl::string_view line, std::vector<JsonMember>& members);

}  // namespace penstock::source
