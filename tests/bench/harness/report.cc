#include "tests/bench/harness/report.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/check.h"

namespace penstock::bench {
namespace {

using google::protobuf::Struct;

std::string Number(double value) {
  if (value == std::floor(value)) return absl::StrFormat("%.0f", value);
  return absl::StrFormat("%.*f", std::abs(value) >= 100 ? 0 : std::abs(value) >= 10 ? 1 : 3, value);
}

absl::string_view Verdict(bool reached) { return reached ? "reached" : "MISSED"; }

std::string Line(const Comparison& each) {
  std::string line =
      absl::StrFormat("  %s: %s %s\n    %s: %s %s\n    ratio %.3f", each.name, Number(each.figure),
                      each.unit, each.against, Number(each.reference), each.unit, each.Ratio());
  if (each.goal_ratio > 0) {
    absl::StrAppendFormat(&line, " (goal %.2f: %s)", each.goal_ratio, Verdict(each.Reached()));
  }
  return absl::StrCat(line, "\n");
}

std::string Line(const Fact& each) {
  std::string line = absl::StrCat("  ", each.name, ": ", Number(each.value), " ", each.unit);
  if (each.at_most != Fact::kNoLimit) {
    absl::StrAppend(&line, " (goal: at most ", Number(each.at_most), ": ", Verdict(each.Reached()),
                    ")");
  }
  return absl::StrCat(line, "\n");
}

void Set(Struct& object, const char* key, double value) {
  (*object.mutable_fields())[key].set_number_value(value);
}
void Set(Struct& object, const char* key, const std::string& value) {
  (*object.mutable_fields())[key].set_string_value(value);
}
void SetVerdict(Struct& object, bool reached) {
  (*object.mutable_fields())["reached"].set_bool_value(reached);
}
google::protobuf::ListValue& List(Struct& object, const char* key) {
  return *(*object.mutable_fields())[key].mutable_list_value();
}

void Add(const Comparison& each, Struct& object) {
  Set(object, "name", each.name);
  Set(object, "against", each.against);
  Set(object, "unit", each.unit);
  Set(object, "figure", each.figure);
  Set(object, "reference", each.reference);
  Set(object, "ratio", each.Ratio());
  if (each.goal_ratio <= 0) return;
  Set(object, "goal_ratio", each.goal_ratio);
  SetVerdict(object, each.Reached());
}

void Add(const Fact& each, Struct& object) {
  Set(object, "name", each.name);
  Set(object, "value", each.value);
  Set(object, "unit", each.unit);
  if (each.at_most == Fact::kNoLimit) return;
  Set(object, "at_most", each.at_most);
  SetVerdict(object, each.Reached());
}

}  // namespace

std::string ToText(const Result& result, const Machine& machine) {
  std::string text = absl::StrFormat(
      "%s, on %u cores (%s; load %.2f), medians of %d rounds\n  data: %s\n", result.suite,
      machine.cores, machine.simd, machine.load, result.rounds, result.data);
  for (const Comparison& each : result.comparisons) absl::StrAppend(&text, Line(each));
  for (const Fact& each : result.facts) absl::StrAppend(&text, Line(each));
  for (const std::string& each : result.notes) absl::StrAppend(&text, "  note: ", each, "\n");
  return text;
}

std::string ToJson(const Result& result, const Machine& machine) {
  Struct object;
  Set(object, "suite", result.suite);
  Set(object, "data", result.data);
  Set(object, "rounds", result.rounds);
  Set(object, "cores", machine.cores);
  Set(object, "simd", machine.simd);
  Set(object, "load", machine.load);
  auto& comparisons = List(object, "comparisons");
  for (const Comparison& each : result.comparisons) {
    Add(each, *comparisons.add_values()->mutable_struct_value());
  }
  auto& facts = List(object, "facts");
  for (const Fact& each : result.facts) Add(each, *facts.add_values()->mutable_struct_value());
  auto& notes = List(object, "notes");
  for (const std::string& each : result.notes) notes.add_values()->set_string_value(each);

  std::string json;
  PENSTOCK_CHECK(google::protobuf::util::MessageToJsonString(object, &json).ok());
  return json;
}

}  // namespace penstock::bench
