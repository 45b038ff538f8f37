#include "client/ctl/help/page.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace penstock::ctl {
namespace {

constexpr size_t kColumns = 80;

// The words in lines of at most `columns`, each after `margin` spaces, the first one as it is.
std::string Wrap(absl::string_view text, size_t margin, size_t columns) {
  std::string wrapped;
  size_t at = margin;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const bool first = wrapped.empty();
    if (!first && at + 1 + word.size() > columns) {
      absl::StrAppend(&wrapped, "\n", std::string(margin, ' '), word);
      at = margin + word.size();
    } else {
      absl::StrAppend(&wrapped, first ? "" : " ", word);
      at += word.size() + (first ? 0 : 1);
    }
  }
  return wrapped;
}

std::string OptionLines(const std::vector<HelpOption>& options) {
  size_t widest = 0;
  for (const HelpOption& option : options)
    widest = std::max(widest, absl::string_view(option.form).size());
  std::string text;
  for (const HelpOption& option : options) {
    const size_t margin = 2 + widest + 3;
    const std::string space(margin - 2 - absl::string_view(option.form).size(), ' ');
    absl::StrAppend(&text, "  ", option.form, space, Wrap(option.what, margin, kColumns), "\n");
  }
  return text;
}

// Text that man(7) takes for nothing else.
std::string Escape(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  if (absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'")) escaped.insert(0, "\\&");
  return escaped;
}

std::string ManOptions(const std::vector<HelpOption>& options) {
  std::string text;
  for (const HelpOption& option : options)
    absl::StrAppend(&text, ".TP\n\\fB", Escape(option.form), "\\fR\n", Escape(option.what), "\n");
  return text;
}

std::string Unformatted(const std::vector<std::string>& lines) {
  std::string text = ".nf\n";
  for (const std::string& line : lines) absl::StrAppend(&text, Escape(line), "\n");
  return text + ".fi\n";
}

}  // namespace

std::string HelpText(const HelpTopic& topic) {
  std::string text = absl::StrCat("penstockctl ", topic.name, ": ",
                                  Wrap(topic.summary, 2, kColumns - 14), "\n\nUsage\n");
  for (const char* const usage : topic.usage)
    absl::StrAppend(&text, "  penstockctl [options] ", Wrap(usage, 4, kColumns - 22), "\n");
  for (const char* const paragraph : topic.paragraphs)
    absl::StrAppend(&text, "\n", Wrap(paragraph, 0, kColumns), "\n");
  if (!topic.options.empty()) absl::StrAppend(&text, "\nOptions\n", OptionLines(topic.options));
  if (!topic.examples.empty()) absl::StrAppend(&text, "\nExamples\n");
  for (const HelpExample& example : topic.examples)
    absl::StrAppend(&text, "  # ", example.what, "\n  ", example.line, "\n");
  return text + "\n'penstockctl --help' has the options that every command takes.\n";
}

std::string ManPage(const HelpTopic& topic) {
  std::vector<std::string> usage, examples;
  for (const char* const each : topic.usage)
    usage.push_back(absl::StrCat("penstockctl [options] ", each));
  for (const HelpExample& example : topic.examples) {
    examples.push_back(absl::StrCat("# ", example.what));
    examples.push_back(example.line);
  }
  std::string text = absl::StrCat(
      ".\\\" Made by deploy/man/command_pages.sh of client/ctl/help/topics.cc.\n.TH PENSTOCKCTL\\-",
      absl::AsciiStrToUpper(topic.name),
      " 1 \"\" \"Penstock\" \"Penstock\"\n.SH NAME\npenstockctl\\-", topic.name, " \\- ",
      Escape(topic.summary), "\n.SH SYNOPSIS\n", Unformatted(usage), ".SH DESCRIPTION\n");
  const char* between = "";
  for (const char* const paragraph : topic.paragraphs) {
    absl::StrAppend(&text, between, Escape(paragraph), "\n");
    between = ".PP\n";
  }
  if (!topic.options.empty()) absl::StrAppend(&text, ".SH OPTIONS\n", ManOptions(topic.options));
  absl::StrAppend(&text, ".PP\n.BR penstockctl (1)\nhas the options that every command takes.\n");
  if (!examples.empty()) absl::StrAppend(&text, ".SH EXAMPLES\n", Unformatted(examples));
  return text + ".SH SEE ALSO\n.BR penstockctl (1),\n.BR penstockd (8)\n";
}

}  // namespace penstock::ctl
