// The specification of a dataset whose images a list names: a table (.csv, .tsv) or a file with one
// JSON object per line (.jsonl). Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "common/base/status.h"
#include "server/source/lists/labels.h"

namespace penstock::source {

enum class ListHeader { kAuto, kYes, kNo };

struct ListSpec {
  std::string file = {};  // absolute
  std::string root = {};  // the folder of relative paths, absolute; empty: the list's own folder
  // A column: its number from 0, or its name in the header; a key of JSON lines. Empty: the column
  // named `path`, else the first one.
  std::string path = {};
  // The same; empty: the column named `label`, else the samples have no labels.
  std::string label = {};
  ListHeader header = ListHeader::kAuto;
  LabelsAs labels = LabelsAs::kAuto;
  base::DType reals = base::DType::kFloat64;  // of columns with fractions; or kFloat32
  bool operator==(const ListSpec&) const = default;
};

// **Errors**: InvalidArgument for paths that are not absolute, and other types than the above.
absl::Status Validate(const ListSpec& spec);

// Text form: "list:/data/train.csv,path=0,label=1,root=/data/images,header=auto|yes|no,
// labels=auto|numbers|texts,reals=float64|float32", everything but the file optional.
bool IsListText(absl::string_view text);
absl::StatusOr<ListSpec> ParseListText(absl::string_view text);
std::string ToString(const ListSpec& spec);

}  // namespace penstock::source
