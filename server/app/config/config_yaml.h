// Reads YAML into a protobuf message by reflection; keys are field names without their units. It
// doesn't know what the values mean.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "common/base/status.h"
#include "server/app/config/config_lines.h"

namespace penstock::app {

// A field's YAML key: its name without _bytes, _ms or _share.
std::string KeyOf(const google::protobuf::FieldDescriptor& field);

// Sets the fields that the text names and leaves the others unchanged. Records each value's line.
// **Errors**: InvalidArgument for invalid YAML, unknown or repeated keys, and values of the wrong
// type.
absl::Status ReadYaml(const std::string& text, google::protobuf::Message& message,
                      ConfigLines& lines);

}  // namespace penstock::app
