// Python's sort order of file names, which ImageFolder uses.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock::source {

// Whether Python sorts `a` before `b`: by code points after os.fsdecode, which maps each byte that
// is not UTF-8 to U+DC80 … U+DCFF (PEP 383). For valid UTF-8 this is byte order.
bool PythonLess(absl::string_view a, absl::string_view b);

// Whether the text is valid UTF-8.
bool IsUtf8(absl::string_view text);

}  // namespace penstock::source
