#include "server/source/cifar/pickle_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

constexpr size_t kMostStack = 4'000'000;  // a batch of CIFAR-100 pushes 1,000 labels at a time
constexpr size_t kMostMemo = 4'000'000;
constexpr uint32_t kDeepest = 16;
constexpr absl::string_view kReconstruct = "numpy.core.multiarray _reconstruct";
constexpr absl::string_view kArrayType = "numpy ndarray";
constexpr absl::string_view kDType = "numpy dtype";

uint32_t DepthOf(const std::vector<PickleValue>& items) {
  uint32_t depth = 0;
  for (const PickleValue& item : items) depth = std::max(depth, item.depth);
  return depth;
}

}  // namespace

absl::StatusOr<PickleValue> PickleReader::Read() {
  PENSTOCK_ASSIGN_OR_RETURN(const absl::string_view begin, Take(2));
  if (begin != absl::string_view("\x80\x02", 2))
    return Wrong("the pickle has another protocol than 2");
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t code, TakeNumber(1));
    if (code == '.') break;
    PENSTOCK_RETURN_IF_ERROR(Step(static_cast<uint8_t>(code)));
    if (stack_.size() > kMostStack) return Wrong("the pickle nests too much");
  }
  if (stack_.size() != 1) return Wrong("the pickle does not end with one object");
  return std::move(stack_.back());
}

absl::Status PickleReader::Step(uint8_t code) {
  switch (code) {
    case '(':
      stack_.push_back({.kind = PickleKind::kMark});
      return absl::OkStatus();
    case 'N':
      stack_.push_back({.kind = PickleKind::kNone});
      return absl::OkStatus();
    case 0x88:
    case 0x89:
      stack_.push_back({.kind = PickleKind::kNumber, .number = code == 0x88 ? 1 : 0});
      return absl::OkStatus();
    case ']':
      stack_.push_back({.kind = PickleKind::kList});
      return absl::OkStatus();
    case '}':
      stack_.push_back({.kind = PickleKind::kDict});
      return absl::OkStatus();
    case 'K':
      return PushNumber(1);
    case 'M':
      return PushNumber(2);
    case 'J':
      return PushNumber(4);
    case 'U':
      return PushText(1);
    case 'T':
    case 'X':
      return PushText(4);
    case 'c':
      return PushGlobal();
    case 'R':
      return Reduce();
    case 'b':
      return Build();
    default:
      return StepIntoContainer(code);
  }
}

absl::Status PickleReader::StepIntoContainer(uint8_t code) {
  switch (code) {
    case ')':
    case 0x85:
    case 0x86:
    case 0x87:
      return Tuple(code == ')' ? 0 : code - 0x84u);
    case 't': {
      PENSTOCK_ASSIGN_OR_RETURN(std::vector<PickleValue> items, TakeAboveMark());
      return PushTuple(std::move(items));
    }
    case 'e':
    case 'u': {
      PENSTOCK_ASSIGN_OR_RETURN(std::vector<PickleValue> items, TakeAboveMark());
      return Append(std::move(items), code == 'e' ? PickleKind::kList : PickleKind::kDict);
    }
    case 'a':
    case 's': {
      const size_t count = code == 'a' ? 1 : 2;
      if (stack_.size() < count) return Wrong("an instruction lacks its operands");
      std::vector<PickleValue> items(
          std::make_move_iterator(stack_.end() - static_cast<ptrdiff_t>(count)),
          std::make_move_iterator(stack_.end()));
      stack_.resize(stack_.size() - count);
      return Append(std::move(items), code == 'a' ? PickleKind::kList : PickleKind::kDict);
    }
    default:
      return StepThroughMemo(code);
  }
}

// Containers are remembered without their items, because these files never ask for one again.
absl::Status PickleReader::StepThroughMemo(uint8_t code) {
  const bool puts = code == 'q' || code == 'r';
  if (!puts && code != 'h' && code != 'j')
    return Wrong(absl::StrCat("there is an instruction that CIFAR's pickles don't have, ", code));
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t number, TakeNumber(code == 'q' || code == 'h' ? 1 : 4));
  if (puts) {
    if (stack_.empty() || memo_.size() > kMostMemo) return Wrong("nothing can be remembered");
    const PickleValue& top = stack_.back();
    if (top.items.empty() && !top.Is(PickleKind::kList) && !top.Is(PickleKind::kDict) &&
        !top.Is(PickleKind::kArray) && !top.Is(PickleKind::kMark))
      memo_[number] = top;
    return absl::OkStatus();
  }
  const auto known = memo_.find(number);
  if (known == memo_.end()) return Wrong("an object that is not remembered is used again");
  stack_.push_back(known->second);
  return absl::OkStatus();
}

absl::Status PickleReader::Wrong(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("byte ", at_, ": ", what));
}

absl::StatusOr<absl::string_view> PickleReader::Take(uint64_t bytes) {
  if (bytes > pickle_.size() - at_) return Wrong("the pickle is truncated");
  const absl::string_view taken = pickle_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

// Little endian.
absl::StatusOr<uint64_t> PickleReader::TakeNumber(size_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const absl::string_view taken, Take(bytes));
  uint64_t number = 0;
  for (size_t i = bytes; i-- > 0;) number = number << 8 | static_cast<uint8_t>(taken[i]);
  return number;
}

// Only numbers of four bytes have a sign.
absl::Status PickleReader::PushNumber(size_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t number, TakeNumber(bytes));
  stack_.push_back(
      {.kind = PickleKind::kNumber,
       .number = bytes == 4 ? static_cast<int32_t>(number) : static_cast<int64_t>(number)});
  return absl::OkStatus();
}

absl::Status PickleReader::PushText(size_t length_bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t bytes, TakeNumber(length_bytes));
  PENSTOCK_ASSIGN_OR_RETURN(const absl::string_view text, Take(bytes));
  stack_.push_back({.kind = PickleKind::kText, .text = text});
  return absl::OkStatus();
}

// Two lines: a module and a name in it.
absl::Status PickleReader::PushGlobal() {
  for (const absl::string_view known : {kReconstruct, kArrayType, kDType}) {
    const absl::string_view rest = pickle_.substr(at_, known.size() + 1);
    if (rest.size() != known.size() + 1 || rest.back() != '\n') continue;
    std::string text(rest.substr(0, known.size()));
    std::replace(text.begin(), text.end(), '\n', ' ');
    if (text != known) continue;
    at_ += known.size() + 1;
    stack_.push_back({.kind = PickleKind::kGlobal, .text = known});
    return absl::OkStatus();
  }
  const std::string shown(pickle_.substr(at_, std::min<size_t>(60, pickle_.size() - at_)));
  return Wrong(absl::StrCat("it names something that CIFAR's pickles don't have: '",
                            EscapeForDisplay(shown), "'"));
}

absl::Status PickleReader::Tuple(size_t items) {
  if (stack_.size() < items) return Wrong("an instruction lacks its operands");
  std::vector<PickleValue> taken(
      std::make_move_iterator(stack_.end() - static_cast<ptrdiff_t>(items)),
      std::make_move_iterator(stack_.end()));
  stack_.resize(stack_.size() - items);
  return PushTuple(std::move(taken));
}

absl::Status PickleReader::PushTuple(std::vector<PickleValue> items) {
  const uint32_t depth = DepthOf(items) + 1;
  if (depth > kDeepest) return Wrong("the pickle nests too much");
  stack_.push_back({.kind = PickleKind::kTuple, .items = std::move(items), .depth = depth});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PickleValue>> PickleReader::TakeAboveMark() {
  size_t mark = stack_.size();
  while (mark > 0 && !stack_[mark - 1].Is(PickleKind::kMark)) --mark;
  if (mark == 0) return Wrong("an instruction lacks its mark");
  std::vector<PickleValue> items(
      std::make_move_iterator(stack_.begin() + static_cast<ptrdiff_t>(mark)),
      std::make_move_iterator(stack_.end()));
  stack_.resize(mark - 1);
  return items;
}

absl::Status PickleReader::Append(std::vector<PickleValue> items, PickleKind into) {
  if (stack_.empty() || !stack_.back().Is(into)) return Wrong("items belong to no container");
  if (into == PickleKind::kDict && items.size() % 2 != 0) return Wrong("a key has no value");
  stack_.back().depth = std::max(stack_.back().depth, DepthOf(items) + 1);
  if (stack_.back().depth > kDeepest) return Wrong("the pickle nests too much");
  std::vector<PickleValue>& all = stack_.back().items;
  all.insert(all.end(), std::make_move_iterator(items.begin()),
             std::make_move_iterator(items.end()));
  return absl::OkStatus();
}

// NumPy's arrays and types begin empty; Build describes them.
absl::Status PickleReader::Reduce() {
  if (stack_.size() < 2 || !stack_.back().Is(PickleKind::kTuple))
    return Wrong("an instruction lacks its operands");
  const PickleValue arguments = std::move(stack_.back());
  stack_.pop_back();
  const PickleValue called = std::move(stack_.back());
  stack_.pop_back();
  const std::vector<PickleValue>& given = arguments.items;
  if (called.Is(PickleKind::kGlobal) && called.text == kDType && !given.empty() &&
      given[0].Is(PickleKind::kText)) {
    stack_.push_back({.kind = PickleKind::kType, .text = given[0].text});
    return absl::OkStatus();
  }
  if (called.Is(PickleKind::kGlobal) && called.text == kReconstruct && !given.empty() &&
      given[0].Is(PickleKind::kGlobal) && given[0].text == kArrayType) {
    stack_.push_back({.kind = PickleKind::kArray});
    return absl::OkStatus();
  }
  return Wrong("it makes an object that is no array");
}

// An array's state: version, shape, type, whether it is in Fortran order, data.
absl::Status PickleReader::Build() {
  if (stack_.size() < 2 || !stack_.back().Is(PickleKind::kTuple))
    return Wrong("an instruction lacks its operands");
  PickleValue state = std::move(stack_.back());
  stack_.pop_back();
  PickleValue& built = stack_.back();
  if (built.Is(PickleKind::kType)) return absl::OkStatus();  // byte order and sizes of its fields
  std::vector<PickleValue>& parts = state.items;
  const bool known = built.Is(PickleKind::kArray) && parts.size() == 5 &&
                     parts[1].Is(PickleKind::kTuple) && parts[2].Is(PickleKind::kType) &&
                     parts[3].Is(PickleKind::kNumber) && parts[4].Is(PickleKind::kText);
  if (!known) return Wrong("an object's state is not that of an array");
  if (parts[2].text != "u1" || parts[3].number != 0)
    return Wrong("an array is not of unsigned bytes in C order");
  built.text = parts[4].text;
  built.items = std::move(parts[1].items);
  return absl::OkStatus();
}

}  // namespace penstock::source
