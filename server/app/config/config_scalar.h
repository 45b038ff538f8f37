// Converts a value's text into a field, according to the field's type and unit, and back.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace penstock::app {

// Sets the field, or appends to a repeated field. False if the text is not a valid value.
bool SetScalar(const std::string& text, const google::protobuf::FieldDescriptor& field,
               google::protobuf::Message& message);

// The value as in YAML, with its unit, as SetScalar accepts it; lists in [].
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field);

// What the field accepts, for messages: "a size like 4GiB", "a whole number", ….
std::string WantedFor(const google::protobuf::FieldDescriptor& field);

}  // namespace penstock::app
