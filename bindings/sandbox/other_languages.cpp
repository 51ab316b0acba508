#include "other_languages.h"

#include <algorithm>
#include <array>

namespace trainlab {

namespace {

struct Saying {
  std::string_view elsewhere, here;
};

constexpr std::string_view for_python_modules =
    "recipes have lab in place of Python's modules: lab.nn, lab.optim, lab.data, lab.tensor, lab.ops";

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
    {"torch", for_python_modules},
    {"nn", "write local nn = lab.nn"},
    {"np", for_python_modules},
    {"numpy", for_python_modules},
    {"tf", for_python_modules},
    {"keras", for_python_modules},
});

// What to look for in a line that does not compile, and what is meant by it.
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
    {"continue", "there is no continue: use if … then … end, or goto"},
    {"!", "the word is not"},
    {"&", "integers have bit.band, bit.bor, bit.bxor, bit.lshift and bit.rshift"},
});

constexpr std::string_view for_comparisons =
    "tensors are compared by t:lt(x), t:le(x), t:gt(x) and t:ge(x), element by element; t:item() is a number";
constexpr std::string_view for_missing_elements =
    "there is no such element; Lua's lists count from 1: list[1] is the first";

constexpr auto calls = std::to_array<Saying>({
    {"attempt to compare number with userdata", for_comparisons},
    {"attempt to compare userdata with number", for_comparisons},
    {"attempt to compare two userdata values", for_comparisons},
    {"attempt to index field '?' (a nil value)", for_missing_elements},
    {"attempt to perform arithmetic on field '?' (a nil value)", for_missing_elements},
    {"attempt to call field '?' (a nil value)", for_missing_elements},
    {"attempt to index local 'run' (a nil value)",
     "the mean of an ensemble's members is measured without a run: write run and run.step, or if run then … end"},
    {"attempt to call field 'unpack'", "the function is a global here: unpack(list)"},
    {"attempt to call field 'pack'", "write { ... } and select(\"#\", ...)"},
});

constexpr std::array<std::string_view, 12> python_modules{
    "torch",   "torchvision", "numpy",  "tensorflow", "keras", "jax",
    "sklearn", "pandas",      "optuna", "lightning",  "nn",    "np"};

}  // namespace

std::string_view global_elsewhere(std::string_view name) {
  const auto found = std::ranges::find(globals, name, &Saying::elsewhere);
  return found == globals.end() ? std::string_view() : found->here;
}

std::string_view syntax_elsewhere(std::string_view line) {
  for (const Saying& saying : syntax) {
    if (line.find(saying.elsewhere) != std::string_view::npos) return saying.here;
  }
  return {};
}

std::string_view call_elsewhere(std::string_view message, std::string_view line) {
  for (const Saying& saying : calls) {
    if (message.starts_with(saying.elsewhere)) return saying.here;
  }
  // Lua does not name an element with a number for its key.
  const bool is_first = message.find("a nil value") != std::string_view::npos && line.find("[0]") != line.npos;
  return is_first ? for_missing_elements : std::string_view();
}

std::string_view module_elsewhere(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('.'));
  return std::ranges::find(python_modules, first) == python_modules.end() ? std::string_view() : for_python_modules;
}

}  // namespace trainlab
