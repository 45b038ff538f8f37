// The `python` source: samples that only a trainer's own program can make. The daemon knows their
// number, and an id that decides who shares them; Python workers make whole batches of them
// (server/pyworkers). Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/core/dataset.h"

namespace penstock::source {

struct PythonSpec {
  // Hexadecimal digits in lower case, at most kMaxPythonIdDigits. Trainers whose datasets have the
  // same id and number of samples share batches.
  std::string id;
  uint64_t samples = 0;

  bool operator==(const PythonSpec&) const = default;
};

inline constexpr size_t kMaxPythonIdDigits = 64;
inline constexpr uint64_t kMaxPythonSamples = uint64_t{1} << 62;  // as many as a plan can have

// Parses "python:id=ID,samples=N". Both are required, in any order.
bool IsPython(absl::string_view text);
// **Errors**: InvalidArgument quotes what is not understood, with the grammar.
absl::StatusOr<PythonSpec> ParsePython(absl::string_view text);
// The text form, which parses to the same value. There is one for each value.
std::string ToString(const PythonSpec& spec);

// **Requires**: `spec` came from ParsePython.
std::unique_ptr<Dataset> MakePython(const PythonSpec& spec);

}  // namespace penstock::source
