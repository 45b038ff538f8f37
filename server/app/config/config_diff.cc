#include "server/app/config/config_diff.h"

#include <google/protobuf/util/message_differencer.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "server/app/config/config_scalar.h"
#include "server/app/config/config_yaml.h"

namespace penstock::app {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

// The keys that take effect while the daemon runs. All others are read only at start.
bool ChangesWhileRunning(const std::string& key) {
  static const std::set<std::string> keys = {"datasets",
                                             "limits.max_pool_per_user",
                                             "limits.max_quarantined",
                                             "limits.max_quarantined_minimum",
                                             "limits.max_sessions_per_user",
                                             "limits.max_workers_per_user",
                                             "log.level",
                                             "server.drain_for",
                                             "server.max_sessions",
                                             "stores.places"};
  return keys.contains(key);
}

std::string Names(const config::v1::Config& config) {
  std::string names;
  for (const config::v1::Dataset& dataset : config.datasets())
    absl::StrAppend(&names, names.empty() ? "" : ", ", dataset.name());
  return names.empty() ? "none" : names;
}

void CompareSection(const std::string& section, const Message& before, const Message& after,
                    std::vector<ConfigChange>& changes) {
  for (int i = 0; i < before.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *before.GetDescriptor()->field(i);
    MessageDifferencer differencer;
    std::vector<const FieldDescriptor*> one = {&field};
    if (differencer.CompareWithFields(before, after, one, one)) continue;
    const std::string key = absl::StrCat(section, ".", KeyOf(field));
    changes.push_back({.key = key,
                       .before = ValueText(before, field),
                       .after = ValueText(after, field),
                       .needs_restart = !ChangesWhileRunning(key)});
  }
}

}  // namespace

std::string ConfigChange::ToString() const {
  return absl::StrCat(key, ": ", before, ", now ", after);
}

std::vector<ConfigChange> Compare(const config::v1::Config& before,
                                  const config::v1::Config& after) {
  std::vector<ConfigChange> changes;
  const auto& reflection = *before.GetReflection();
  for (int i = 0; i < before.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& section = *before.GetDescriptor()->field(i);
    if (section.is_repeated()) continue;
    CompareSection(section.name(), reflection.GetMessage(before, &section),
                   reflection.GetMessage(after, &section), changes);
  }
  MessageDifferencer differencer;
  const FieldDescriptor* const datasets = before.GetDescriptor()->FindFieldByName("datasets");
  if (!differencer.CompareWithFields(before, after, {datasets}, {datasets}))
    changes.push_back({.key = "datasets", .before = Names(before), .after = Names(after)});
  return changes;
}

}  // namespace penstock::app
