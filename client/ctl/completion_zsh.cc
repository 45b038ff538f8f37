#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/ctl/completion.h"

namespace penstock::ctl {
namespace {

// The sed script, options for all, the commands, and what goes with each.
constexpr char kZshScript[] = R"sh(#compdef penstockctl
# What completes penstockctl's words in zsh. Made by: penstockctl completion zsh

_penstockctl_datasets() {
  local -a names where
  [[ -z $address ]] || where=(--address $address)
  names=(${(f)"$(timeout 2 penstockctl $where -o json datasets 2>/dev/null |
    sed -n '%s')"})
  compadd -a names
}

_penstockctl() {
  local curcontext=$curcontext state line
  local -a common format commands
  typeset -A opt_args
  common=(
%s  )
  format=(
%s  )
  commands=(
%s  )
  _arguments -C $common $format '1:command:->command' '*::word:->word' && return
  local address=$opt_args[--address]
  case $state in
    command) _describe -t commands command commands ;;
    word)
      case $words[1] in
%s        *) _arguments $common $format ;;
      esac
      ;;
  esac
}

if [[ $funcstack[1] == _penstockctl ]]; then
  _penstockctl "$@"
else
  compdef _penstockctl penstockctl
fi
)sh";

std::string ValuesOf(Value value) {
  switch (value) {
    case Value::kFile:
      return "_files";
    case Value::kFormat:
      return absl::StrCat("(", absl::StrJoin(kFormats, " "), ")");
    case Value::kColor:
      return absl::StrCat("(", absl::StrJoin(kColorWishes, " "), ")");
    case Value::kText:
    case Value::kNone:
      break;
  }
  return "";
}

// "'(-o --output)'{-o+,--output=}'[what]:table|json:(table json)'"
std::string Spec(const OptionForm& option, const std::string& values) {
  const bool takes = option.value != Value::kNone;
  const std::string tail =
      absl::StrCat("[", option.what, "]", takes ? absl::StrCat(":", option.value_name, ":") : "",
                   takes ? values : "", "'");
  if (*option.letter == '\0') return absl::StrCat("'", option.name, takes ? "=" : "", tail);
  return absl::StrCat("'(", option.letter, " ", option.name, ")'{", option.letter, takes ? "+" : "",
                      ",", option.name, takes ? "=" : "", "}'", tail);
}

std::string SpecsOf(bool format) {
  std::string specs;
  for (const OptionForm& option : Options())
    if (*option.only_with == '\0' && (option.value == Value::kFormat) == format)
      absl::StrAppend(&specs, "    ", Spec(option, ValuesOf(option.value)), "\n");
  return specs;
}

std::string Described() {
  std::string lines;
  for (const std::string& first : FirstWords()) {
    const CommandForm* form = FindCommand(first);
    const char* const what = form != nullptr ? form->what : SecondWords(first).front()->what;
    absl::StrAppend(&lines, "    '", first, ":", what, "'\n");
  }
  return lines;
}

std::string OwnOptions(const std::string& command) {
  std::string specs;
  for (const OptionForm& option : Options())
    if (option.only_with == command)
      absl::StrAppend(&specs, " ", Spec(option, ValuesOf(option.value)));
  return specs;
}

// What goes with each first word; those with nothing of their own need no line.
std::string Cases() {
  std::string cases;
  const auto add = [&](const std::string& first, const std::string& arguments) {
    absl::StrAppend(&cases, "        ", first, ") ", arguments, " ;;\n");
  };
  for (const std::string& first : FirstWords()) {
    const CommandForm* form = FindCommand(first);
    if (form == nullptr) {
      std::vector<std::string> second;
      for (const CommandForm* each : SecondWords(first))
        second.push_back(std::string(each->words).substr(first.size() + 1));
      add(first, absl::StrCat("_arguments $common $format '1:command:(", absl::StrJoin(second, " "),
                              ")' '2:dataset:_penstockctl_datasets'"));
    } else if (form->command == Command::kTrace) {
      std::string to_file;
      for (const OptionForm& option : Options())
        if (option.value == Value::kFormat) to_file = Spec(option, "_files");
      add(first, absl::StrCat("_arguments $common ", to_file, OwnOptions(first)));
    } else if (form->word == Word::kShell) {
      add(first,
          absl::StrCat("_arguments $common $format '1:shell:(", absl::StrJoin(kShells, " "), ")'"));
    } else if (form->word != Word::kNone) {
      add(first, "_arguments $common $format '1:dataset:_penstockctl_datasets'");
    } else if (const std::string own = OwnOptions(first); !own.empty()) {
      add(first, absl::StrCat("_arguments $common $format", own));
    }
  }
  return cases;
}

}  // namespace

std::string ZshCompletion() {
  return absl::StrFormat(kZshScript, kNameOfJson, SpecsOf(false), SpecsOf(true), Described(),
                         Cases());
}

}  // namespace penstock::ctl
