#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/ctl/completion.h"

namespace penstock::ctl {
namespace {

// $1: the sed script; the rest: patterns and lists of words.
constexpr char kBashScript[] =
    R"sh(# What completes penstockctl's words in bash. Made by: penstockctl completion bash

_penstockctl_datasets() {
  timeout 2 penstockctl ${1:+--address "$1"} -o json datasets 2>/dev/null |
    sed -n '%s'
}

_penstockctl_of() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

_penstockctl_files() {
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
  compopt -o filenames 2>/dev/null
  return 0
}

_penstockctl() {
  local current=${COMP_WORDS[COMP_CWORD]} wants='' address='' options word i
  local -a words=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $word != = ]] || continue # bash parts --option=value there
    if [[ -n $wants ]]; then
      [[ $wants != --address ]] || address=$word
      wants=''
      continue
    fi
    case $word in
      %s) wants=$word ;;
      -*) ;;
      *) words+=("$word") ;;
    esac
  done
  [[ $current != = ]] || current=''

  case $wants in
    '') ;;
    %s)
      if [[ ${words[*]} == trace ]]; then _penstockctl_files; else _penstockctl_of '%s'; fi
      return
      ;;
    %s) _penstockctl_files; return ;;
    %s) _penstockctl_of '%s'; return ;;
    *) return ;;
  esac
  if [[ $current == -* ]]; then
    options='%s'
    case ${words[*]} in
%s    esac
    _penstockctl_of "$options"
    return
  fi
  case ${words[*]} in
%s  esac
}

complete -F _penstockctl penstockctl
)sh";

std::string Quoted(const std::string& words) { return absl::StrCat("'", words, "'"); }

std::string Case(const std::string& pattern, const std::string& action) {
  return absl::StrCat("    ", pattern, ") ", action, " ;;\n");
}

std::string CasesOfOptions() {
  std::string cases;
  for (const std::string& command : CommandsWithOptions())
    absl::StrAppend(
        &cases, "  ",
        Case(Quoted(command), absl::StrCat("options+=' ",
                                           absl::StrJoin(NamesOf([&](const OptionForm& option) {
                                                           return option.only_with == command;
                                                         }),
                                                         " "),
                                           "'")));
  return cases;
}

std::string CasesOfWords() {
  const auto of = [](const std::string& words) {
    return absl::StrCat("_penstockctl_of ", Quoted(words));
  };
  std::string cases = Case("''", of(absl::StrJoin(FirstWords(), " ")));
  for (const std::string& first : FirstWords()) {
    std::vector<std::string> second;
    for (const CommandForm* form : SecondWords(first))
      second.push_back(std::string(form->words).substr(first.size() + 1));
    if (!second.empty()) absl::StrAppend(&cases, Case(first, of(absl::StrJoin(second, " "))));
  }
  std::vector<std::string> patterns;
  for (const std::string& command : CommandsWithDatasets()) patterns.push_back(Quoted(command));
  absl::StrAppend(&cases,
                  Case(absl::StrJoin(patterns, " | "),
                       R"sh(_penstockctl_of "$(_penstockctl_datasets "$address")")sh"),
                  Case("completion", of(absl::StrJoin(kShells, " "))));
  return cases;
}

std::string PatternOf(Value value) {
  return absl::StrJoin(NamesOf([&](const OptionForm& option) { return option.value == value; }),
                       " | ");
}

}  // namespace

std::string BashCompletion() {
  const auto with_value = NamesOf([](const OptionForm& o) { return o.value != Value::kNone; });
  const auto common = NamesOf([](const OptionForm& o) { return *o.only_with == '\0'; });
  return absl::StrFormat(kBashScript, kNameOfJson, absl::StrJoin(with_value, " | "),
                         PatternOf(Value::kFormat), absl::StrJoin(kFormats, " "),
                         PatternOf(Value::kFile), PatternOf(Value::kColor),
                         absl::StrJoin(kColorWishes, " "), absl::StrJoin(common, " "),
                         CasesOfOptions(), CasesOfWords());
}

}  // namespace penstock::ctl
