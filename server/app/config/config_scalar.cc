#include "server/app/config/config_scalar.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "common/base/digits.h"
#include "common/base/units.h"

namespace penstock::app {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

enum class Kind { kBytes, kTime, kShare, kFraction, kNumber32, kNumber64, kText, kEnum, kBool };

Kind KindOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return Kind::kNumber32;
    case FieldDescriptor::CPPTYPE_STRING:
      return Kind::kText;
    case FieldDescriptor::CPPTYPE_ENUM:
      return Kind::kEnum;
    case FieldDescriptor::CPPTYPE_BOOL:
      return Kind::kBool;
    case FieldDescriptor::CPPTYPE_UINT64:
      if (absl::EndsWith(field.name(), "_bytes")) return Kind::kBytes;
      return absl::EndsWith(field.name(), "_ms") ? Kind::kTime : Kind::kNumber64;
    default:
      PENSTOCK_CHECK(field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE);
      return absl::EndsWith(field.name(), "_share") ? Kind::kShare : Kind::kFraction;
  }
}

// The enum Level has LEVEL_DEBUG, which YAML writes as "debug"; the value 0 cannot be written.
std::string WordFor(const EnumDescriptor& type, int index) {
  const std::string prefix = absl::StrCat(absl::AsciiStrToUpper(type.name()), "_");
  return absl::AsciiStrToLower(absl::StripPrefix(type.value(index)->name(), prefix));
}

template <typename Number>
bool ParseNumber(absl::string_view text, Number& number) {
  return base::IsDigits(text) && absl::SimpleAtoi(text, &number);
}

bool ParseFraction(absl::string_view text, double& fraction) {
  return !text.empty() && absl::ascii_isdigit(text[0]) &&
         text.find_first_not_of("0123456789.") == absl::string_view::npos &&
         absl::SimpleAtod(text, &fraction);
}

bool ParseShare(absl::string_view text, double& share) {
  if (!absl::ConsumeSuffix(&text, "%") || !ParseFraction(text, share)) return false;
  share /= 100;
  return share <= 1;
}

bool ParseMilliseconds(absl::string_view text, uint64_t& milliseconds) {
  const auto time = base::ParseDuration(text);
  constexpr std::chrono::milliseconds kOne(1);
  if (!time.ok() || *time % kOne != base::Duration(0)) return false;
  milliseconds = static_cast<uint64_t>(*time / kOne);
  return true;
}

// Blanks around a text are errors, because they show mistakes such as an unclosed quote, which
// includes the end of the line.
bool IsText(absl::string_view text) {
  return absl::StripAsciiWhitespace(text) == text &&
         std::none_of(text.begin(), text.end(), absl::ascii_iscntrl);
}

bool SetEnum(const std::string& text, const FieldDescriptor& field, Message& message) {
  const EnumDescriptor& type = *field.enum_type();
  for (int i = 1; i < type.value_count(); ++i) {
    if (text != WordFor(type, i)) continue;
    message.GetReflection()->SetEnum(&message, &field, type.value(i));
    return true;
  }
  return false;
}

bool SetText(const std::string& text, const FieldDescriptor& field, Message& message) {
  if (!IsText(text)) return false;
  if (field.is_repeated())
    message.GetReflection()->AddString(&message, &field, text);
  else
    message.GetReflection()->SetString(&message, &field, text);
  return true;
}

bool SetUInt64(bool parsed, uint64_t value, const FieldDescriptor& field, Message& message) {
  if (parsed) message.GetReflection()->SetUInt64(&message, &field, value);
  return parsed;
}

// An entry of a list: a text, or the first field of a message, which names it.
std::string EntryText(const Message& message, const FieldDescriptor& field, int at) {
  const auto& reflection = *message.GetReflection();
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
    return reflection.GetRepeatedString(message, &field, at);
  const Message& entry = reflection.GetRepeatedMessage(message, &field, at);
  return ValueText(entry, *entry.GetDescriptor()->field(0));
}

}  // namespace

bool SetScalar(const std::string& text, const FieldDescriptor& field, Message& message) {
  const auto& reflection = *message.GetReflection();
  uint64_t number = 0;
  switch (KindOf(field)) {
    case Kind::kBytes: {
      const auto bytes = base::ParseBytes(text);
      return SetUInt64(bytes.ok(), bytes.value_or(0), field, message);
    }
    case Kind::kTime: {
      const bool parsed = ParseMilliseconds(text, number);
      return SetUInt64(parsed, number, field, message);
    }
    case Kind::kNumber64: {
      const bool parsed = ParseNumber(text, number);
      return SetUInt64(parsed, number, field, message);
    }
    case Kind::kNumber32: {
      uint32_t small = 0;
      if (!ParseNumber(text, small)) return false;
      reflection.SetUInt32(&message, &field, small);
      return true;
    }
    case Kind::kShare: {
      double share = 0;
      if (!ParseShare(text, share)) return false;
      reflection.SetDouble(&message, &field, share);
      return true;
    }
    case Kind::kFraction: {
      double fraction = 0;
      if (!ParseFraction(text, fraction)) return false;
      if (field.is_repeated())
        reflection.AddDouble(&message, &field, fraction);
      else
        reflection.SetDouble(&message, &field, fraction);
      return true;
    }
    case Kind::kText:
      return SetText(text, field, message);
    case Kind::kEnum:
      return SetEnum(text, field, message);
    case Kind::kBool:
      if (text != "true" && text != "false") return false;
      reflection.SetBool(&message, &field, text == "true");
      return true;
  }
  return false;
}

std::string ValueText(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    std::vector<std::string> values;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i)
      values.push_back(EntryText(message, field, i));
    return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
  }
  switch (KindOf(field)) {
    case Kind::kBytes:
      return base::FormatBytes(reflection.GetUInt64(message, &field));
    case Kind::kTime:
      return base::FormatMilliseconds(reflection.GetUInt64(message, &field));
    case Kind::kNumber64:
      return absl::StrCat(reflection.GetUInt64(message, &field));
    case Kind::kNumber32:
      return absl::StrCat(reflection.GetUInt32(message, &field));
    case Kind::kShare:
      return absl::StrCat(reflection.GetDouble(message, &field) * 100, "%");
    case Kind::kFraction:
      return absl::StrCat(reflection.GetDouble(message, &field));
    case Kind::kText: {
      const std::string text = reflection.GetString(message, &field);
      return text.empty() ? "\"\"" : text;
    }
    case Kind::kBool:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case Kind::kEnum:
      break;
  }
  return WordFor(*field.enum_type(), reflection.GetEnum(message, &field)->index());
}

std::string WantedFor(const FieldDescriptor& field) {
  switch (KindOf(field)) {
    case Kind::kBytes:
      return "a size: a whole number and B, KiB, MiB, GiB or TiB, like 4GiB";
    case Kind::kTime:
      return "a time: a whole number and ms, s, m or h, like 10s";
    case Kind::kShare:
      return "a share from 0% to 100%, like 0.1%";
    case Kind::kFraction:
      return "a number of at least 0, like 0.7";
    case Kind::kNumber32:
      return "a whole number from 0 to 4294967295";
    case Kind::kNumber64:
      return "a whole number from 0 to 18446744073709551615";
    case Kind::kText:
      return "one line of text without blanks around it";
    case Kind::kBool:
      return "true or false";
    case Kind::kEnum:
      break;
  }
  std::vector<std::string> words;
  for (int i = 1; i < field.enum_type()->value_count(); ++i)
    words.push_back(WordFor(*field.enum_type(), i));
  return absl::StrCat("one of ", absl::StrJoin(words, ", "));
}

}  // namespace penstock::app
