// A reader of pickles that hold only numbers, texts, lists, tuples, dicts and NumPy arrays of
// bytes: protocol 2, as Python 2 wrote them. Calls nothing.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

enum class PickleKind {
  kMark,
  kNone,
  kNumber,  // also False and True
  kText,    // bytes or a text
  kList,
  kTuple,
  kDict,    // keys and values by turns
  kGlobal,  // `text`: "module name"
  kType,    // a NumPy dtype; `text`: its name
  kArray,   // a NumPy array of bytes in C order; `text`: its data
};

struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  int64_t number = 0;
  absl::string_view text = {};          // points into the pickle
  std::vector<PickleValue> items = {};  // an array's: its shape
  uint32_t depth = 0;                   // of the containers in it

  bool Is(PickleKind other) const { return kind == other; }
};

class PickleReader {
 public:
  // `pickle` must outlive the values.
  explicit PickleReader(absl::string_view pickle) : pickle_(pickle) {}

  // The object. **Errors**: InvalidArgument with the byte.
  absl::StatusOr<PickleValue> Read();

 private:
  absl::Status Step(uint8_t code);
  absl::Status StepIntoContainer(uint8_t code);
  absl::Status StepThroughMemo(uint8_t code);
  absl::Status Wrong(absl::string_view what) const;
  absl::StatusOr<absl::string_view> Take(uint64_t bytes);
  absl::StatusOr<uint64_t> TakeNumber(size_t bytes);
  absl::Status PushNumber(size_t bytes);
  absl::Status PushText(size_t length_bytes);
  absl::Status PushGlobal();
  absl::Status Tuple(size_t items);
  absl::Status PushTuple(std::vector<PickleValue> items);
  absl::StatusOr<std::vector<PickleValue>> TakeAboveMark();
  absl::Status Append(std::vector<PickleValue> items, PickleKind into);
  absl::Status Reduce();
  absl::Status Build();

  const absl::string_view pickle_;
  size_t at_ = 0;
  std::vector<PickleValue> stack_;
  std::map<uint64_t, PickleValue> memo_;
};

}  // namespace penstock::source
