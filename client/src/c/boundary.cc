#include "client/src/c/boundary.h"

#include <algorithm>

namespace penstock::c {
namespace {

// No struct of this API comes near; a larger size is a variable that was never set.
constexpr size_t kMostBytes = 64 << 10;

size_t SizeIn(const void* structure) {
  size_t size = 0;
  std::memcpy(&size, structure, sizeof size);  // struct_size is the first member
  return size;
}

Status WrongSize(const char* type, size_t size, size_t first) {
  return {Code::kInvalidArgument, std::string(type) + ": struct_size is " + std::to_string(size) +
                                      ", expected at least " + std::to_string(first) +
                                      "; set it to sizeof(" + type + ")"};
}

}  // namespace

int32_t Report(const Status& status, penstock_error* error) {
  if (error != nullptr) {
    error->code = static_cast<int32_t>(status.code());
    const bool unsaid = !status.ok() && status.message().empty();
    if (unsaid) {
      std::strcpy(error->message,
                  status.code() == Code::kResourceExhausted ? "out of memory" : "unknown error");
    } else {
      CopyText(status.message(), error->message, sizeof error->message);
    }
  }
  return static_cast<int32_t>(status.code());
}

Status Missing(const char* argument) {
  return {Code::kInvalidArgument, std::string(argument) + " is NULL"};
}

Status CheckSize(const char* type, const void* into, size_t first) {
  if (into == nullptr) return Missing(type);
  const size_t size = SizeIn(into);
  if (size < first || size > kMostBytes) return WrongSize(type, size, first);
  return {};
}

Status CopyStruct(const char* type, const void* from, size_t first, size_t known, void* into) {
  if (Status checked = CheckSize(type, from, first); !checked.ok()) return checked;
  const auto* const bytes = static_cast<const unsigned char*>(from);
  const size_t size = SizeIn(from);
  for (size_t at = known; at < size; ++at) {
    if (bytes[at] != 0) {
      return {Code::kInvalidArgument, std::string(type) + ": byte " + std::to_string(at) +
                                          " is set, and this library knows only " +
                                          std::to_string(known) + " bytes; it is older than the " +
                                          "program's header"};
    }
  }
  std::memcpy(into, from, std::min(size, known));
  return {};
}

void CopyText(const std::string& text, char* into, size_t bytes) {
  size_t end = std::min(text.size(), bytes - 1);
  // not within a character of UTF-8
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  std::memcpy(into, text.data(), end);
  into[end] = '\0';
}

}  // namespace penstock::c
