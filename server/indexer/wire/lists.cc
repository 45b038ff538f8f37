#include "server/indexer/wire/lists.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/indexer/wire/results.h"
#include "server/indexer/wire/take_records.h"
#include "server/source/files/python_order.h"
#include "server/source/lists/labels.h"

namespace penstock::indexer {
namespace {

using source::ListColumn;
using source::ListedRow;
using source::ScannedList;

struct ListHead {
  uint64_t rows = 0, path_bytes = 0, labels = 0, classes = 0, columns = 0;
};

struct ColumnHead {
  uint32_t type = 0, name_bytes = 0;
};

template <typename Record>
absl::Status PutRecords(AnswerSink& sink, const std::vector<Record>& records) {
  return sink.Put(std::as_bytes(std::span(records)));
}

absl::StatusOr<std::string> TakeName(AnswerSource& source, uint64_t bytes, AnswerMemory& memory) {
  PENSTOCK_RETURN_IF_ERROR(memory.Take(sizeof(std::string) + bytes));
  std::string name(bytes, '\0');
  PENSTOCK_RETURN_IF_ERROR(source.Take(std::as_writable_bytes(std::span(name))));
  return name;
}

absl::Status TakeClasses(AnswerSource& source, uint64_t count, uint64_t most_bytes,
                         AnswerMemory& memory, std::vector<std::string>& classes) {
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t bytes = 0;
    PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, bytes));
    if (bytes > most_bytes) return Lie("names of classes that are too long");
    most_bytes -= bytes;
    PENSTOCK_ASSIGN_OR_RETURN(std::string name, TakeName(source, bytes, memory));
    classes.push_back(std::move(name));
  }
  return absl::OkStatus();
}

absl::Status TakeColumns(AnswerSource& source, const ListHead& head, AnswerMemory& memory,
                         std::vector<ListColumn>& columns) {
  for (uint64_t i = 0; i < head.columns; ++i) {
    ColumnHead column;
    PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, column));
    if (column.name_bytes > source::kLongestListColumnName)
      return Lie("a column's name that is too long");
    PENSTOCK_ASSIGN_OR_RETURN(std::string name, TakeName(source, column.name_bytes, memory));
    columns.push_back({.name = std::move(name), .type = static_cast<base::DType>(column.type)});
    PENSTOCK_RETURN_IF_ERROR(
        TakeRecords(source, head.rows, head.rows, memory, columns.back().values));
  }
  return absl::OkStatus();
}

bool IsColumnOf(const ListColumn& column, size_t rows) {
  const bool known = column.type == base::DType::kInt64 || column.type == base::DType::kFloat64 ||
                     column.type == base::DType::kFloat32;
  return known && column.values.size() == rows && !column.name.empty() &&
         source::IsUtf8(column.name);
}

absl::Status CheckPaths(const ScannedList& list) {
  uint64_t bytes = 0;
  for (const ListedRow& row : list.rows) {
    if (row.path_bytes == 0 || row.path_bytes > source::kLongestListPath)
      return Lie("a path that is empty or too long");
    bytes += row.path_bytes;
  }
  if (bytes != list.paths.size()) return Lie("paths of another length");
  if (std::memchr(list.paths.data(), '\0', list.paths.size()) != nullptr)
    return Lie("a path with a NUL byte");
  return absl::OkStatus();
}

}  // namespace

absl::Status PutList(AnswerSink& sink, const ScannedList& list) {
  PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, ListHead{.rows = list.rows.size(),
                                                    .path_bytes = list.paths.size(),
                                                    .labels = list.labels.size(),
                                                    .classes = list.classes.size(),
                                                    .columns = list.columns.size()}));
  PENSTOCK_RETURN_IF_ERROR(PutText(sink, list.left_out));
  PENSTOCK_RETURN_IF_ERROR(PutRecords(sink, list.rows));
  PENSTOCK_RETURN_IF_ERROR(PutRecords(sink, list.paths));
  PENSTOCK_RETURN_IF_ERROR(PutRecords(sink, list.labels));
  for (const std::string& name : list.classes) {
    PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, static_cast<uint32_t>(name.size())));
    PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(name))));
  }
  for (const ListColumn& column : list.columns) {
    PENSTOCK_RETURN_IF_ERROR(
        PutRecord(sink, ColumnHead{.type = static_cast<uint32_t>(column.type),
                                   .name_bytes = static_cast<uint32_t>(column.name.size())}));
    PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(column.name))));
    PENSTOCK_RETURN_IF_ERROR(PutRecords(sink, column.values));
  }
  return absl::OkStatus();
}

// Each row has a path, and each cell of a column of numbers a digit, so neither can be more than
// the file's bytes.
absl::StatusOr<ScannedList> TakeList(AnswerSource& source, uint64_t file_bytes,
                                     AnswerMemory& memory) {
  ListHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  if (head.rows > file_bytes || head.path_bytes > file_bytes ||
      head.columns > source::kMostListColumns || head.columns * head.rows > file_bytes ||
      (head.labels != 0 && head.labels != head.rows))
    return Lie("more than the list can hold");
  if (head.classes > source::kMostListedClasses) return Lie("too many classes");
  ScannedList list = {.labeled = head.labels != 0};
  PENSTOCK_ASSIGN_OR_RETURN(list.left_out, TakeText(source));
  PENSTOCK_RETURN_IF_ERROR(TakeRecords(source, head.rows, head.rows, memory, list.rows));
  PENSTOCK_RETURN_IF_ERROR(
      TakeRecords(source, head.path_bytes, head.path_bytes, memory, list.paths));
  PENSTOCK_RETURN_IF_ERROR(TakeRecords(source, head.labels, head.labels, memory, list.labels));
  const uint64_t most_names =
      file_bytes + 5 * source::kMostListedClasses;  // the numbers up to a label
  PENSTOCK_RETURN_IF_ERROR(TakeClasses(source, head.classes, most_names, memory, list.classes));
  PENSTOCK_RETURN_IF_ERROR(TakeColumns(source, head, memory, list.columns));
  return list;
}

absl::Status CheckList(const ScannedList& list) {
  if (list.rows.empty()) return Lie("a list without rows");
  PENSTOCK_RETURN_IF_ERROR(CheckPaths(list));
  const auto classes = static_cast<int64_t>(list.classes.size());
  for (const int64_t label : list.labels)
    if (classes > 0 && (label < 0 || label >= classes)) return Lie("a label without a class");
  if (!list.classes.empty() && !list.labeled) return Lie("classes without labels");
  for (const std::string& name : list.classes)
    if (!source::IsUtf8(name)) return Lie("a class whose name is not UTF-8");
  for (size_t i = 0; i < list.columns.size(); ++i) {
    if (!IsColumnOf(list.columns[i], list.rows.size())) return Lie("a column that cannot be");
    for (size_t j = 0; j < i; ++j)
      if (list.columns[j].name == list.columns[i].name) return Lie("two columns of one name");
  }
  return absl::OkStatus();
}

}  // namespace penstock::indexer
