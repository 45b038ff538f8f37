#include "client/ctl/check_views.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/ctl/table.h"
#include "client/ctl/views.h"

namespace penstock::ctl {
namespace {

absl::string_view WordOf(Grade grade) {
  switch (grade) {
    case Grade::kOk:
      return "ok";
    case Grade::kWarning:
      return "warning";
    case Grade::kProblem:
      return "problem";
  }
  return "";
}

size_t CountOf(Grade grade, const std::vector<Finding>& findings) {
  return static_cast<size_t>(std::count_if(
      findings.begin(), findings.end(), [&](const Finding& each) { return each.grade == grade; }));
}

}  // namespace

std::string Show(const std::vector<Finding>& findings) {
  Table table({{"RESULT"}, {"WHAT"}, {"FOUND"}});
  std::string remedies;
  for (const Finding& finding : findings) {
    table.Add({std::string(WordOf(finding.grade)), finding.what, finding.found});
    if (finding.remedy.empty()) continue;
    absl::StrAppend(&remedies, "  ", OneLine(finding.what), ": ", OneLine(finding.remedy), "\n");
  }
  const size_t problems = CountOf(Grade::kProblem, findings);
  const size_t warnings = CountOf(Grade::kWarning, findings);
  std::string text = table.Text();
  if (!remedies.empty()) absl::StrAppend(&text, "\nWhat to do\n", remedies);
  absl::StrAppend(&text, "\n",
                  problems == 0 ? "This machine can serve" : "This machine cannot serve", ": ",
                  problems, problems == 1 ? " problem, " : " problems, ", warnings,
                  warnings == 1 ? " warning.\n" : " warnings.\n");
  return text;
}

std::string Json(const std::vector<Finding>& findings) {
  google::protobuf::Struct report;
  auto& fields = *report.mutable_fields();
  fields["can_serve"].set_bool_value(!HasProblem(findings));
  auto& list = *fields["findings"].mutable_list_value();
  for (const Finding& finding : findings) {
    auto& row = *list.add_values()->mutable_struct_value()->mutable_fields();
    row["grade"].set_string_value(std::string(WordOf(finding.grade)));
    row["what"].set_string_value(finding.what);
    row["found"].set_string_value(finding.found);
    row["remedy"].set_string_value(finding.remedy);
  }
  return Json(report);
}

}  // namespace penstock::ctl
