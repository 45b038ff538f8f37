// One value of a configuration: from its text into a field, by the field's type and unit.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace penstock::app {

// Sets the field, or adds to it where it is repeated. False when the text is no value of its kind.
bool SetScalar(const std::string& text, const google::protobuf::FieldDescriptor& field,
               google::protobuf::Message& message);

// As people write it, units and all: what SetScalar takes; a list's values in [].
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field);

// "a size like 4GiB", "a whole number", …: for messages.
std::string WantedFor(const google::protobuf::FieldDescriptor& field);

}  // namespace penstock::app
