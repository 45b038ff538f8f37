#include "server/app/config/config_yaml.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/app/config/config_scalar.h"

namespace penstock::app {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// "; did you mean 'socket'?", then all known keys. A field's full name, with its unit, also counts
// as near. No key: only the known ones.
std::string Suggestion(const std::string& key, const google::protobuf::Descriptor& type) {
  std::string nearest;
  size_t least = std::max<size_t>(2, key.size() / 3) + 1;
  std::vector<std::string> keys;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    keys.push_back(KeyOf(field));
    const size_t distance =
        std::min(EditDistance(key, keys.back()), EditDistance(key, field.name()));
    if (key.empty() || distance >= least) continue;
    least = distance;
    nearest = keys.back();
  }
  return absl::StrCat(nearest.empty() ? "." : absl::StrCat("; did you mean '", nearest, "'?"),
                      " Known here: ", absl::StrJoin(keys, ", "));
}

// Escapes user input to fit in one line of a message.
std::string Escaped(const std::string& text) {
  constexpr size_t kLongest = 60;
  return absl::StrCat(absl::Utf8SafeCEscape(text.substr(0, kLongest)),
                      text.size() > kLongest ? "…" : "");
}

std::string Shown(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (!node.IsScalar()) return "nothing";
  return absl::StrCat("'", Escaped(node.Scalar()), "'");
}

// Whether a list may have nothing behind its key, as when all its entries are comments. Only where
// that allows nothing: without `groups` everyone may open a dataset, without `roots` any folder may
// be read. So a list that lost its entries must not look like one that was never given.
bool NothingMeansNone(const FieldDescriptor& field) {
  return field.full_name() == "penstock.config.v1.Config.datasets";
}

class Reader {
 public:
  explicit Reader(ConfigLines& lines) : lines_(lines) {}

  // `at` is the message's own key; "" for the whole configuration.
  absl::Status ReadMessage(const YAML::Node& node, const std::string& at, Message& message) {
    lines_.Set(at, LineOf(node));
    if (node.IsNull()) return absl::OkStatus();  // a section in which all lines are comments
    if (!node.IsMap()) return Refuse(node, at, "wanted keys and values", message.GetDescriptor());
    std::map<std::string, const FieldDescriptor*> fields;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i)
      fields[KeyOf(*message.GetDescriptor()->field(i))] = message.GetDescriptor()->field(i);
    std::map<std::string, int> seen;
    for (const auto& entry : node) {
      const YAML::Node& name = entry.first;
      if (!name.IsScalar())
        return lines_.RefuseAt(LineOf(name),
                               absl::StrCat("got ", Shown(name), " as a key, wanted a name"));
      const std::string& key = name.Scalar();
      const std::string path = at.empty() ? Escaped(key) : absl::StrCat(at, ".", Escaped(key));
      if (const auto [earlier, is_new] = seen.emplace(key, LineOf(name)); !is_new)
        return lines_.RefuseAt(LineOf(name),
                               absl::StrCat(path, ": got this key twice, first in line ",
                                            earlier->second, "; wanted it once"));
      const auto field = fields.find(key);
      if (field == fields.end())
        return lines_.RefuseAt(
            LineOf(name),
            absl::StrCat(path, ": unknown key", Suggestion(key, *message.GetDescriptor())));
      lines_.Set(path, LineOf(name));
      PENSTOCK_RETURN_IF_ERROR(ReadField(entry.second, path, *field->second, message));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Refuse(const YAML::Node& node, const std::string& at, absl::string_view wanted,
                      const google::protobuf::Descriptor* type = nullptr) {
    std::string what = absl::StrCat("got ", Shown(node), ", ", wanted);
    if (type != nullptr) absl::StrAppend(&what, Suggestion("", *type));
    return lines_.RefuseAt(LineOf(node), at.empty() ? what : absl::StrCat(at, ": ", what));
  }

  absl::Status ReadField(const YAML::Node& node, const std::string& at,
                         const FieldDescriptor& field, Message& message) {
    const auto& reflection = *message.GetReflection();
    if (field.is_repeated()) return ReadList(node, at, field, message);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      return ReadMessage(node, at, *reflection.MutableMessage(&message, &field));
    return ReadScalar(node, at, field, message);
  }

  absl::Status ReadList(const YAML::Node& node, const std::string& at, const FieldDescriptor& field,
                        Message& message) {
    if (node.IsNull() && NothingMeansNone(field)) return absl::OkStatus();
    if (node.IsNull())
      return lines_.Refuse(at, "got nothing, wanted a list; give it entries or remove the key");
    if (!node.IsSequence()) return Refuse(node, at, "wanted a list: one line '- …' for each entry");
    message.GetReflection()->ClearField(&message, &field);
    for (size_t i = 0; i < node.size(); ++i) {
      const std::string path = absl::StrCat(at, "[", i, "]");
      lines_.Set(path, LineOf(node[i]));
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Message& added = *message.GetReflection()->AddMessage(&message, &field);
        PENSTOCK_RETURN_IF_ERROR(ReadMessage(node[i], path, added));
      } else {
        PENSTOCK_RETURN_IF_ERROR(ReadScalar(node[i], path, field, message));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadScalar(const YAML::Node& node, const std::string& at,
                          const FieldDescriptor& field, Message& message) {
    const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!node.IsScalar()) return Refuse(node, at, absl::StrCat("wanted ", WantedFor(field)));
    const bool quoted = node.Tag() == "!";
    if ((quoted && !is_text) || !SetScalar(node.Scalar(), field, message)) {
      const absl::string_view how = quoted && !is_text ? " without quotes" : "";
      return Refuse(node, at, absl::StrCat("wanted ", WantedFor(field), how));
    }
    return absl::OkStatus();
  }

  ConfigLines& lines_;
};

// Notes where a document begins.
class DocumentStart final : public YAML::EventHandler {
 public:
  int line() const { return line_; }

  void OnDocumentStart(const YAML::Mark& mark) override { line_ = mark.line + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int line_ = 1;
};

// The line at which a second document begins. Never asks for a third, because the parser divides
// some texts into an endless number of documents, which YAML::LoadAll collects until no memory is
// left.
std::optional<int> SecondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (!parser.HandleNextDocument(start) || !parser.HandleNextDocument(start)) return std::nullopt;
  return start.line();
}

absl::StatusOr<YAML::Node> Parse(const std::string& text, const ConfigLines& lines) {
  try {
    if (const std::optional<int> line = SecondDocument(text))
      return lines.RefuseAt(*line, "got a second document ('---'), wanted one");
    return YAML::Load(text);
  } catch (const YAML::DeepRecursion& error) {
    return lines.RefuseAt(error.mark.line + 1, "lists and maps are nested too deeply");
  } catch (const YAML::Exception& error) {
    return lines.RefuseAt(error.mark.line + 1,
                          absl::StrCat("this is not valid YAML: ", Escaped(error.msg)));
  }
}

}  // namespace

std::string KeyOf(const FieldDescriptor& field) {
  absl::string_view key = field.name();
  for (const absl::string_view unit : {"_bytes", "_ms", "_share"})
    if (absl::ConsumeSuffix(&key, unit)) break;
  return std::string(key);
}

absl::Status ReadYaml(const std::string& text, Message& message, ConfigLines& lines) {
  PENSTOCK_ASSIGN_OR_RETURN(const YAML::Node root, Parse(text, lines));
  try {
    return Reader(lines).ReadMessage(root, "", message);
  } catch (const YAML::Exception& error) {
    return lines.RefuseAt(error.mark.line + 1, Escaped(error.msg));
  }
}

}  // namespace penstock::app
