#include "server/app/config/config_diff.h"

#include <google/protobuf/util/message_differencer.h>

#include <map>
#include <set>
#include <string>
#include <vector>

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

// The value in one line, also of a message, which ValueText cannot show.
std::string Shown(const Message& message, const FieldDescriptor& field) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_repeated())
    return ValueText(message, field);
  const auto& reflection = *message.GetReflection();
  if (!reflection.HasField(message, &field)) return "not set";
  constexpr size_t kLongest = 200;
  const std::string text = reflection.GetMessage(message, &field).ShortDebugString();
  return absl::StrCat("{", text.substr(0, kLongest), text.size() > kLongest ? "…" : "", "}");
}

bool AreEqual(const Message& before, const Message& after, const FieldDescriptor& field) {
  MessageDifferencer differencer;
  const std::vector<const FieldDescriptor*> one = {&field};
  return differencer.CompareWithFields(before, after, one, one);
}

void CompareFields(const std::string& at, const Message& before, const Message& after,
                   bool needs_restart, std::vector<ConfigChange>& changes) {
  for (int i = 0; i < before.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *before.GetDescriptor()->field(i);
    if (AreEqual(before, after, field)) continue;
    changes.push_back({.key = absl::StrCat(at, ".", KeyOf(field)),
                       .before = Shown(before, field),
                       .after = Shown(after, field),
                       .needs_restart = needs_restart});
  }
}

// The changes of entries that are in both lists under one name, which is their first field.
void CompareEntries(const std::string& key, const Message& before, const Message& after,
                    const FieldDescriptor& field, std::vector<ConfigChange>& changes) {
  const auto name_of = [](const Message& entry) {
    return ValueText(entry, *entry.GetDescriptor()->field(0));
  };
  const auto& reflection = *before.GetReflection();
  std::map<std::string, const Message*> earlier;
  for (int i = 0; i < reflection.FieldSize(before, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(before, &field, i);
    earlier.emplace(name_of(entry), &entry);
  }
  for (int i = 0; i < reflection.FieldSize(after, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(after, &field, i);
    const auto found = earlier.find(name_of(entry));
    if (found == earlier.end()) continue;
    CompareFields(absl::StrCat(key, "[", found->first, "]"), *found->second, entry,
                  !ChangesWhileRunning(key), changes);
  }
}

void CompareField(const std::string& key, const Message& before, const Message& after,
                  const FieldDescriptor& field, std::vector<ConfigChange>& changes) {
  if (AreEqual(before, after, field)) return;
  const ConfigChange change = {.key = key,
                               .before = ValueText(before, field),
                               .after = ValueText(after, field),
                               .needs_restart = !ChangesWhileRunning(key)};
  const bool has_entries = field.is_repeated() && field.message_type() != nullptr;
  if (!has_entries || change.before != change.after) changes.push_back(change);
  if (has_entries) CompareEntries(key, before, after, field, changes);
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
    if (section.is_repeated()) {
      CompareField(section.name(), before, after, section, changes);
      continue;
    }
    const Message& earlier = reflection.GetMessage(before, &section);
    const Message& later = reflection.GetMessage(after, &section);
    for (int f = 0; f < section.message_type()->field_count(); ++f) {
      const FieldDescriptor& field = *section.message_type()->field(f);
      CompareField(absl::StrCat(section.name(), ".", KeyOf(field)), earlier, later, field, changes);
    }
  }
  return changes;
}

}  // namespace penstock::app
