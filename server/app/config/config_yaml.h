// YAML into a protobuf message, by reflection: keys are the fields' names without their units.
// Knows nothing of what the values mean.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "common/base/status.h"
#include "server/app/config/config_lines.h"

namespace penstock::app {

// The YAML key of a field: its name without _bytes, _ms or _share.
std::string KeyOf(const google::protobuf::FieldDescriptor& field);

// Sets the fields that the text names, and leaves the others. Refuses what is no YAML, an unknown
// or repeated key, and a value of another type. Notes each value's line.
absl::Status ReadYaml(const std::string& text, google::protobuf::Message& message,
                      ConfigLines& lines);

}  // namespace penstock::app
