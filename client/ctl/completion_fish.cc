#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/ctl/completion.h"

namespace penstock::ctl {
namespace {

// The options that want a value, then the sed script.
constexpr char kHead[] =
    R"sh(# What completes penstockctl's words in fish. Made by: penstockctl completion fish

function __penstockctl_words
    set -l wants no
    for token in (commandline -opc)[2..-1]
        if test $wants = yes
            set wants no
            continue
        end
        switch $token
            case %s
                set wants yes
            case '-*'
            case '*'
                echo $token
        end
    end
end

function __penstockctl_at
    set -l words (__penstockctl_words)
    test "$words" = "$argv"
end

function __penstockctl_datasets
    timeout 2 penstockctl -o json datasets 2>/dev/null |
        sed -n '%s'
end

complete -c penstockctl -f
)sh";

std::string At(const std::string& words) {
  return absl::StrCat(" -n '__penstockctl_at ", words.empty() ? "\"\"" : words, "'");
}

std::string What(const char* what) { return absl::StrCat(" -d '", what, "'"); }

std::string Line(const std::string& condition, const std::string& rest) {
  return absl::StrCat("complete -c penstockctl", condition, rest, "\n");
}

std::string Names(const OptionForm& option) {
  return absl::StrCat(*option.letter == '\0' ? "" : absl::StrCat(" -s ", option.letter + 1), " -l ",
                      option.name + 2);
}

std::string LinesOf(const OptionForm& option) {
  const std::string names = Names(option), what = What(option.what);
  const std::string condition = *option.only_with == '\0' ? "" : At(option.only_with);
  switch (option.value) {
    case Value::kNone:
      return Line(condition, names + what);
    case Value::kText:
      return Line(condition, absl::StrCat(names, " -x", what));
    case Value::kFile:
      return Line(condition, absl::StrCat(names, " -r -F", what));
    case Value::kColor:
      return Line(condition,
                  absl::StrCat(names, " -x -a '", absl::StrJoin(kColorWishes, " "), "'", what));
    case Value::kFormat:
      return Line(" -n 'not __penstockctl_at trace'",
                  absl::StrCat(names, " -x -a '", absl::StrJoin(kFormats, " "), "'", what)) +
             Line(At("trace"), absl::StrCat(names, " -r -F", what));
  }
  return "";
}

std::string LinesOf(const std::string& first) {
  const CommandForm* form = FindCommand(first);
  if (form != nullptr) return Line(At(""), absl::StrCat(" -a ", first, What(form->what)));
  const auto second = SecondWords(first);
  std::string lines = Line(At(""), absl::StrCat(" -a ", first, What(second.front()->what)));
  for (const CommandForm* each : second)
    absl::StrAppend(&lines, Line(At(first), absl::StrCat(" -a ", each->words + first.size() + 1,
                                                         What(each->what))));
  return lines;
}

}  // namespace

std::string FishCompletion() {
  const auto with_value = NamesOf([](const OptionForm& o) { return o.value != Value::kNone; });
  std::string script = absl::StrFormat(kHead, absl::StrJoin(with_value, " "), kNameOfJson);
  for (const OptionForm& option : Options()) absl::StrAppend(&script, LinesOf(option));
  for (const std::string& first : FirstWords()) absl::StrAppend(&script, LinesOf(first));
  for (const std::string& command : CommandsWithDatasets())
    absl::StrAppend(&script, Line(At(command), " -a '(__penstockctl_datasets)'"));
  absl::StrAppend(&script,
                  Line(At("completion"), absl::StrCat(" -a '", absl::StrJoin(kShells, " "), "'")));
  return script;
}

}  // namespace penstock::ctl
