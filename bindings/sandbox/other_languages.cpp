#include "other_languages.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/words.h"

namespace trainlab {

namespace {

struct Saying {
  std::string_view elsewhere, here;
};

constexpr std::string_view for_python_modules =
    "recipes have lab in place of Python's modules: lab.nn, lab.optim, lab.data, lab.tensor, lab.ops";

constexpr std::string_view for_trainers = "a training is described and returned: return lab.fit { … }";

constexpr auto globals = std::to_array<Saying>({
    {"None", "Lua's word is nil"},
    {"null", "Lua's word is nil"},
    {"True", "Lua's word is true"},
    {"False", "Lua's word is false"},
    {"range", "write for i = 1, n do … end"},
    {"len", "the length of a table or text t is #t"},
    {"enumerate", "write for i, value in ipairs(list) do … end"},
    {"str", "the function is called tostring"},
    {"float", "the function is called tonumber"},
    {"int", "write math.floor(x)"},
    {"abs", "the function is called math.abs"},
    {"min", "the function is called math.min"},
    {"max", "the function is called math.max"},
    {"lambda", "a function is function(a, b) return … end"},
    {"torch", for_python_modules},
    {"nn", "write local nn = lab.nn"},
    {"np", for_python_modules},
    {"numpy", for_python_modules},
    {"lightning", for_trainers},
    {"pl", for_trainers},
    {"tf", for_python_modules},
    {"trainer", for_trainers},
    {"keras", for_python_modules},
});

// A pattern in a line that does not compile, and the writer's probable meaning.
constexpr auto syntax = std::to_array<Saying>({
    {"!=", "not equal is ~="},
    {"+=", "there is no +=: write a = a + b"},
    {"-=", "there is no -=: write a = a - b"},
    {"*=", "there is no *=: write a = a * b"},
    {"/=", "there is no /=: write a = a / b"},
    {"++", "there is no ++: write a = a + 1"},
    {"**", "the power is a ^ b"},
    {"//", "there is no //: write math.floor(a / b); a comment begins with --"},
    {"&&", "the word is and"},
    {"||", "the word is or"},
    {"elif ", "the word is elseif"},
    {"else if ", "the word is elseif, without a space, unless another end follows"},
    {"import ", for_python_modules},
    {"def ", "a function is function name(a, b) … end"},
    {"lambda ", "a function is function(a, b) return … end"},
    {"continue ", "there is no continue: use if … then … end, or goto"},
    {"!", "the word is not"},
    {"&", "integers have bit.band, bit.bor, bit.bxor, bit.lshift and bit.rshift"},
});

// Words that begin a block of Python, whose first line ends in a colon.
constexpr auto blocks = std::to_array<Saying>({
    {"while ", "write while … do … end"},
    {"for ", "write for i = 1, n do … end, or for _, value in ipairs(list) do … end"},
    {"if ", "write if … then … end"},
    {"else", "write else … end, without a colon"},
    {"try", "write local ok, message = pcall(function() … end)"},
    {"class ", "there are no classes: a layer of one's own is nn.Module { … }, other objects are tables"},
});

constexpr std::string_view for_comparisons =
    "tensors are compared by t:lt(x), t:le(x), t:gt(x) and t:ge(x), element by element; t:item() is a number";
constexpr std::string_view for_lengths =
    "an object has no length by #: data.train.size, batch.size; of a tensor #t is t:size(0)";
constexpr std::string_view for_batches =
    "the samples come in batches: for batch in data.train:batches(64) do … end; the numbers of a tensor are t:tolist()";
constexpr std::string_view for_iterators = "an iterator is called by for itself: for batch in data.train:batches(64)";
constexpr std::string_view for_missing_elements =
    "there is no such element; Lua's lists count from 1: list[1] is the first";

constexpr auto calls = std::to_array<Saying>({
    {"attempt to compare number with userdata", for_comparisons},
    {"attempt to compare userdata with number", for_comparisons},
    {"attempt to compare two userdata values", for_comparisons},
    {"bad argument #1 to 'ipairs' (table expected, got userdata)", for_batches},
    {"bad argument #1 to 'pairs' (table expected, got userdata)", for_batches},
    {"bad argument #1 to 'ipairs' (table expected, got function)", for_iterators},
    {"bad argument #1 to 'pairs' (table expected, got function)", for_iterators},
    {"attempt to index local 'run' (a nil value)",
     "the mean of an ensemble's members is measured without a run: write run and run.step, or if run then … end"},
    {"attempt to call field 'unpack'", "the function is a global here: unpack(list)"},
    {"attempt to call field 'pack'", "write { ... } and select(\"#\", ...)"},
    {"attempt to call field 'execute'", "recipes start no programs"},
    {"stack overflow", "a function calls itself without an end"},
});

// Methods of Python's lists, dictionaries and texts, called of a table; and fields of tensors, called like methods.
constexpr auto methods = std::to_array<Saying>({
    {"append", "a list grows by list[#list + 1] = x"},
    {"extend", "write for _, x in ipairs(more) do list[#list + 1] = x end"},
    {"pop", "table.remove(list) takes the last element out, table.remove(list, 1) the first"},
    {"sort", "table.sort(list) sorts a list in place"},
    {"join", "table.concat(list, \", \") joins the texts of a list"},
    {"items", "write for key, value in pairs(t) do … end"},
    {"keys", "write for key in pairs(t) do … end"},
    {"values", "write for _, value in pairs(t) do … end"},
    {"shape", "t.shape is a list of sizes, and t:size(0) is the first"},
    {"dtype", "t.dtype is a text, without parentheses"},
});

constexpr std::array<std::string_view, 12> python_modules{"torch",  "torchvision", "numpy",   "tensorflow",
                                                          "keras",  "jax",         "sklearn", "pandas",
                                                          "optuna", "lightning",   "nn",      "np"};

bool is_letter(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Whether a word, which ends in a space, or a sign stands in a line; a word as a word of its own.
bool stands_in(std::string_view line, std::string_view what) {
  const bool is_word = is_letter(what.front());
  const std::string_view word = is_word ? what.substr(0, what.size() - 1) : what;
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (!is_word || ((at == 0 || !is_letter(line[at - 1])) && (end == line.size() || !is_letter(line[end]))))
      return true;
  }
  return false;
}

// Where the long bracket that begins at `at`, as [[ or [==[, ends; 0 where none begins.
std::size_t long_bracket_end(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '[') return 0;
  const std::size_t second = text.find_first_not_of('=', at + 1);
  if (second == std::string_view::npos || text[second] != '[') return 0;
  const std::string close = "]" + std::string(second - at - 1, '=') + "]";
  const std::size_t end = text.find(close, second + 1);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

// Whether Lua expects a value behind this beginning of a line.
bool expects_value(std::string_view beginning) {
  const std::string_view before = trimmed(beginning);
  return before.empty() || std::string_view("=(,{").find(before.back()) != std::string_view::npos ||
         before.ends_with("return") || before.ends_with(" in");
}

// Whether a list stands in brackets where Lua expects a value, as in `x = [1, 2]`. The key of a constructor, as in
// `{ [1] = x }`, is followed by "=".
bool has_list_in_brackets(std::string_view line) {
  for (std::size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    if (!expects_value(line.substr(0, at)) || line.substr(at, 2) == "[[") continue;
    const std::size_t close = line.find(']', at);
    if (close == std::string_view::npos || !trimmed(line.substr(close + 1)).starts_with('=')) return true;
  }
  return false;
}

// Mistakes within brackets in a line that does not compile. Lua takes = only in the braces of a table, and : only
// before the name of a method.
std::string_view bracket_elsewhere(std::string_view line) {
  constexpr std::string_view comparisons = "=~<>";
  std::string open;
  std::size_t last_open = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at], next = at + 1 < line.size() ? line[at + 1] : ' ';
    if (std::string_view("([{").find(c) != std::string_view::npos) {
      open += c;
      last_open = at;
    } else if (std::string_view(")]}").find(c) != std::string_view::npos) {
      if (!open.empty()) open.pop_back();
    } else if (open.ends_with('(') && c == '=' && next != '=' &&
               comparisons.find(line[at - 1]) == std::string_view::npos) {
      return "options with names stand in braces: optim.Adam { lr = 1e-3 }";
    } else if (open.ends_with('(') && c == ',' && line[last_open] == '(' && expects_value(line.substr(0, last_open))) {
      return "several values are a table here: { 0.9, 0.999 }";
    } else if (open.ends_with('{') && c == ':' && !is_letter(next)) {
      return "a table is { a = 1, [\"any text\"] = 2 }";
    } else if (open.ends_with('[') && c == ':') {
      return "a part of a text is s:sub(first, last); of a tensor a range is { from, to }";
    }
  }
  return {};
}

// "append" of "attempt to call method 'append' (a nil value)"; empty for other messages.
std::string_view called_name(std::string_view message) {
  for (const std::string_view start : {"attempt to call field '", "attempt to call method '"}) {
    if (message.starts_with(start))
      return message.substr(start.size(), message.find('\'', start.size()) - start.size());
  }
  return {};
}

}  // namespace

std::string_view global_elsewhere(std::string_view name) {
  const auto found = std::ranges::find(globals, name, &Saying::elsewhere);
  return found == globals.end() ? std::string_view() : found->here;
}

std::string_view line_of(std::string_view text, int line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string code_of(std::string_view text) {
  std::string code(text);
  const auto blank = [&](std::size_t from, std::size_t to) {
    to = std::min(to, code.size());
    std::replace_if(
        code.begin() + static_cast<std::ptrdiff_t>(from), code.begin() + static_cast<std::ptrdiff_t>(to),
        [](char c) { return c != '\n'; }, ' ');
    return to;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const bool is_comment = text.substr(at, 2) == "--";
    const std::size_t bracket = is_comment ? at + 2 : at;
    if (const std::size_t behind = long_bracket_end(text, bracket); behind > 0) {
      at = blank(at, behind);
    } else if (is_comment) {
      at = blank(at, text.find('\n', at));
    } else if (text[at] == '"' || text[at] == '\'') {
      std::size_t end = at + 1;
      while (end < text.size() && text[end] != text[at] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      at = blank(at, end + (end < text.size() && text[end] == text[at] ? 1 : 0));
    } else {
      ++at;
    }
  }
  return code;
}

std::string_view syntax_elsewhere(std::string_view text, int line) {
  const std::string code = code_of(text);
  const std::string_view here = line_of(code, line);
  for (const Saying& saying : syntax) {
    if (stands_in(here, saying.elsewhere)) return saying.here;
  }
  if (has_list_in_brackets(here)) return "a list is { 1, 2 }";
  if (stands_in(here, "if ") && stands_in(here, "else ") && !stands_in(here, "then "))
    return "a value by a condition is condition and a or b, where a is neither nil nor false";
  if (!stands_in(here, "function ")) {
    if (const std::string_view brackets = bracket_elsewhere(here); !brackets.empty()) return brackets;
  }
  // Lua reads on behind the colon, which begins the call of a method, and fails in a later line.
  for (; line > 0; --line) {
    const std::string_view before = trimmed(line_of(code, line), " \t\r");
    if (!before.ends_with(':')) continue;
    const auto block =
        std::ranges::find_if(blocks, [&](const Saying& one) { return before.starts_with(one.elsewhere); });
    if (block != blocks.end()) return block->here;
  }
  return {};
}

std::string_view call_elsewhere(std::string_view message, std::string_view text, int line) {
  for (const Saying& saying : calls) {
    if (message.starts_with(saying.elsewhere)) return saying.here;
  }
  const auto method = std::ranges::find(methods, called_name(message), &Saying::elsewhere);
  if (method != methods.end()) return method->here;
  if (!message.starts_with("attempt to ")) return {};
  if (message.starts_with("attempt to get length of ") && message.ends_with("userdata value)")) return for_lengths;
  if (message.ends_with(" (a function value)"))
    return "a method is called with a colon and parentheses, as t:item(); a function with parentheses";
  const std::string code = code_of(text);
  const std::string_view here = line_of(code, line);
  const bool is_arithmetic = message.starts_with("attempt to perform arithmetic on ");
  if (is_arithmetic && message.ends_with("string value)") && stands_in(here, "+"))
    return "texts are joined by ..: \"step \" .. step";
  if (message == "attempt to call a userdata value" && stands_in(here, "for ")) return for_batches;
  if (message == "attempt to call a table value" && stands_in(here, "for "))
    return "write for _, value in ipairs(list) do … end";
  // Lua does not name an element with a number for its key, and of a computed key not even the table.
  if (message.ends_with("field '?' (a nil value)")) return for_missing_elements;
  const bool is_nameless = message.ends_with(" a nil value") || message.find("compare nil ") != std::string_view::npos;
  return is_nameless && here.find('[') != std::string_view::npos ? for_missing_elements : std::string_view();
}

std::string_view module_elsewhere(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('.'));
  return std::ranges::find(python_modules, first) == python_modules.end() ? std::string_view() : for_python_modules;
}

}  // namespace trainlab
