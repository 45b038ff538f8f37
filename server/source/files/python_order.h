// The order in which Python's sorted() puts file names, which is ImageFolder's.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock::source {

// Whether Python would sort `a` before `b`: by code points, after os.fsdecode, which turns each
// byte that is not UTF-8 into U+DC80 … U+DCFF (PEP 383). For valid UTF-8 that is the order of the
// bytes.
bool PythonLess(absl::string_view a, absl::string_view b);

// Whether every byte belongs to valid UTF-8.
bool IsUtf8(absl::string_view text);

}  // namespace penstock::source
