// What `trainlab help` and the editor know of tensors.
#include "bindings/lua_entries.h"

namespace trainlab {

namespace {

Option dtype() {
  return Option("dtype",
                "\"float32\", \"float64\", \"float16\", \"bfloat16\", \"int64\", \"int32\", \"int16\", \"int8\", "
                "\"uint8\", \"bool\", \"complex64\" or \"complex128\"")
      .string();
}
Option device() { return Option("device", "\"cpu\", \"cuda\" or \"cuda:N\"").string(); }
Option requires_grad() {
  return Option("requires_grad", "backward() computes its gradient").boolean().or_default(false);
}
Option seed() {
  return Option("seed", "the numbers are those of this seed; without it the next ones of the recipe's stream")
      .integer();
}
Option shape() {
  return Option("size", "sizes of the dimensions: a list, or integers one after the other")
      .integer()
      .many()
      .required()
      .positional();
}

void register_making(Registry& registry) {
  registry.add(
      Entry("tensor", "function", "A tensor of the numbers or booleans in a table, float32 unless dtype is given.")
          .with(Option("values", "a number, or lists nested to any depth").any().required().positional())
          .with(dtype())
          .with(device())
          .with(requires_grad())
          .returns("a tensor")
          .example("local t = lab.tensor { {1, 2}, {3, 4} }"));
  const auto making = [&](const char* name, const char* doc, std::vector<Option> first, bool random,
                          const char* sample) {
    Entry entry(name, "function", doc);
    for (Option& option : first) entry.with(std::move(option));
    entry.with(dtype()).with(device()).with(requires_grad());
    if (random) entry.with(seed());
    registry.add(std::move(entry.returns("a tensor").example(sample)));
  };
  const auto number = [](const char* name, const char* doc, bool required) {
    Option option(name, doc);
    option.number().positional();
    if (required) option.required();
    return option;
  };
  making("tensor.zeros", "A tensor of zeros.", {shape()}, false, "lab.tensor.zeros(2, 3)");
  making("tensor.ones", "A tensor of ones.", {shape()}, false, "lab.tensor.ones({ 2, 3 }, { dtype = \"float64\" })");
  making("tensor.full", "A tensor of one number, float32 unless dtype is given.",
         {shape(), number("fill_value", "the number", true)}, false, "lab.tensor.full({ 2, 3 }, 0.5)");
  making("tensor.eye", "Ones on the diagonal, zeros elsewhere.",
         {number("n", "rows", true), number("m", "columns, as many as rows unless given", false)}, false,
         "lab.tensor.eye(3)");
  making("tensor.arange", "Numbers from start (0) up to end, without it; int64 where all are whole, else float32.",
         {number("start", "the first; with one number this is the end", true),
          number("end", "the end, not included", false), number("step", "from one to the next", false)},
         false, "lab.tensor.arange(10)");
  making("tensor.linspace", "Numbers at equal distances, both ends included.",
         {number("start", "the first", true), number("end", "the last", true), number("steps", "how many", true)},
         false, "lab.tensor.linspace(0, 1, 11)");
  making("tensor.logspace", "Powers of base whose exponents have equal distances, both ends included.",
         {number("start", "the first exponent", true), number("end", "the last exponent", true),
          number("steps", "how many", true), number("base", "10 unless given", false)},
         false, "lab.tensor.logspace(-3, 0, 4)");
  making("tensor.rand", "Uniform draws from [0, 1).", {shape()}, true, "lab.tensor.rand(2, 3)");
  making("tensor.randn", "Normal draws of mean 0 and variance 1.", {shape()}, true,
         "lab.tensor.randn({ 64, 5 }, { seed = 1 })");
  making("tensor.randint", "Whole draws from low (0) up to high, without it; int64.",
         {number("low", "the least; left out it is 0", false), number("high", "the end, not included", true), shape()},
         true, "lab.tensor.randint(10, { 3 })");
  making("tensor.randperm", "0 … n − 1 in random order, int64.", {number("n", "how many", true)}, true,
         "lab.tensor.randperm(8)");
  registry.add(Entry("tensor.load", "function",
                     "Reads a .npy file as a tensor, or a .safetensors file as a table of tensors by name.")
                   .with(Option("path", "the file, relative to the recipe").path().required().positional())
                   .returns("a tensor, or a table of them")
                   .example("local weights = lab.tensor.load(\"weights.safetensors\")"));
}

void register_members(Registry& registry) {
  const auto field = [&](const char* name, const char* doc, const char* type) {
    registry.add(Entry(name, "field", doc).returns(type));
  };
  field("tensor.shape", "Sizes of the dimensions, a list.", "table");
  field("tensor.dtype", "Name of the type of its elements.", "string");
  field("tensor.device", "Where its memory is.", "string");
  field("tensor.ndim", "Number of dimensions.", "integer");
  field("tensor.grad", "The gradient that backward() has added up, or nil; t.grad = nil forgets it.",
        "a tensor or nil");
  field("tensor.is_leaf", "Not computed by a recorded operator.", "boolean");

  registry.add(Entry("tensor:item", "method", "The value of a tensor of one element. Waits for the device.")
                   .returns("number, or boolean")
                   .note("A 64-bit integer that no Lua number holds exactly is an error."));
  registry.add(Entry("tensor:tolist", "method", "All values as nested lists. Waits for the device.").returns("table"));
  registry.add(Entry("tensor:dim", "method", "Number of dimensions.").returns("integer"));
  registry.add(Entry("tensor:numel", "method", "Number of elements.").returns("integer"));
  registry.add(Entry("tensor:requires_grad", "method", "Asks whether gradients are computed for it, or sets that.")
                   .with(Option("value", "set to this").boolean().positional())
                   .returns("boolean without a value, else the tensor")
                   .example("local w = lab.tensor.zeros(3):requires_grad(true)"));
  registry.add(
      Entry("tensor:backward", "method", "Adds its gradient to t.grad of all that it was computed from.")
          .with(Option("gradient", "of the same shape; needed unless the tensor has one element").any().positional())
          .with(Option("retain_graph", "a second backward() will follow").boolean().or_default(false))
          .with(Option("create_graph", "the gradients can be differentiated again").boolean().or_default(false))
          .example("loss:backward()"));
  registry.add(Entry("tensor:release", "method", "Gives its memory back now; using it afterwards is an error."));
}

}  // namespace

void register_tensors(Registry& registry) {
  register_making(registry);
  register_members(registry);
  registry.add(Entry("no_grad", "function", "Calls a function without recording operators for backward().")
                   .with(Option("f", "the function").function("function(…) → …").required().positional())
                   .with(Option("arguments", "what it is called with").any().positional())
                   .returns("what the function gives")
                   .example("local y = lab.no_grad(function() return x * 2 end)"));
  registry.add(
      Entry("scope", "function", "Calls a function, then releases all tensors made meanwhile but those it gives.")
          .with(Option("f", "the function").function("function(…) → …").required().positional())
          .with(Option("arguments", "what it is called with").any().positional())
          .returns("what the function gives")
          .example("local mean = lab.scope(function() return (x * x):mean() end)"));
}

}  // namespace trainlab
