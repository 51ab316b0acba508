// The entries of tensors, for `trainlab help` and the editor.
#include "bindings/lua_entries.h"

namespace trainlab {

namespace {

Option dtype() {
  return Option("dtype",
                "type of the elements: \"float32\", \"float64\", \"float16\", \"bfloat16\", \"int64\", \"int32\", "
                "\"int16\", \"int8\", \"uint8\", \"bool\", \"complex64\" or \"complex128\"")
      .string();
}
Option device() {
  return Option("device",
                "device of the tensor: \"cpu\", \"cuda\", \"cuda:N\", or the device of another tensor (batch.x.device)")
      .string()
      .or_default("cpu");
}
Option requires_grad() {
  return Option("requires_grad", "backward() computes a gradient for the tensor").boolean().or_default(false);
}
Option seed() {
  return Option("seed", "seed of the draws (default: the next numbers of the recipe's own stream)").integer();
}
Option shape(const char* doc = "sizes of the dimensions: a list, or integers one after the other") {
  return Option("size", doc).integer().many().required().positional();
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
  making("tensor.full", "A tensor whose elements all have one value, float32 unless dtype is given.",
         {shape("sizes of the dimensions: a list"), number("fill_value", "value of every element", true)}, false,
         "lab.tensor.full({ 2, 3 }, 0.5)");
  making("tensor.eye", "Ones on the diagonal, zeros elsewhere.",
         {number("n", "number of rows", true), number("m", "number of columns (default: n)", false)}, false,
         "lab.tensor.eye(3)");
  making(
      "tensor.arange",
      "Numbers from start (default 0) up to end, which is not included; int64 if all numbers are whole, else float32.",
      {number("start", "the first number; if only one number is given, the end", true),
       number("end", "end of the range, not included", false),
       number("step", "difference between neighbouring numbers", false)},
      false, "lab.tensor.arange(10)");
  making("tensor.linspace", "Numbers at equal distances, both ends included.",
         {number("start", "first number", true), number("end", "last number", true),
          number("steps", "number of elements", true)},
         false, "lab.tensor.linspace(0, 1, 11)");
  making("tensor.logspace", "Powers of base whose exponents have equal distances, both ends included.",
         {number("start", "first exponent", true), number("end", "last exponent", true),
          number("steps", "number of elements", true), number("base", "base of the powers (default: 10)", false)},
         false, "lab.tensor.logspace(-3, 0, 4)");
  making("tensor.rand", "Uniform draws from [0, 1).", {shape()}, true, "lab.tensor.rand(2, 3)");
  making("tensor.randn", "Normal draws of mean 0 and variance 1.", {shape()}, true,
         "lab.tensor.randn({ 64, 5 }, { seed = 1 })");
  making("tensor.randint",
         "Whole numbers drawn uniformly from low (default 0) up to high, which is not included; int64.",
         {number("low", "smallest number (default: 0)", false), number("high", "end of the range, not included", true),
          shape("sizes of the dimensions: a list, or integers one after the other; with three integers or more, "
                "the first two are low and high")},
         true, "lab.tensor.randint(10, { 3 })");
  making("tensor.randperm", "The numbers 0 … n − 1 in random order, int64.", {number("n", "number of elements", true)},
         true, "lab.tensor.randperm(8)");
  registry.add(Entry("tensor.load", "function",
                     "Reads a .npy file as a tensor, or a .safetensors file as a table of tensors by name.")
                   .with(Option("path", "the file, relative to the recipe").path().required().positional())
                   .returns("a tensor, or a table of tensors")
                   .example("local weights = lab.tensor.load(\"weights.safetensors\")"));
}

void register_members(Registry& registry) {
  const auto field = [&](const char* name, const char* doc, const char* type) {
    registry.add(Entry(name, "field", doc).returns(type));
  };
  field("tensor.shape", "The sizes of the dimensions, as a list.", "table");
  field("tensor.dtype", "Name of the type of the elements.", "string");
  field("tensor.device", "Name of the device that holds the tensor's memory.", "string");
  field("tensor.ndim", "Number of dimensions.", "integer");
  field("tensor.grad", "The gradient that backward() has added up, or nil; t.grad = nil deletes the gradient.",
        "a tensor or nil");
  field("tensor.is_leaf", "True if no recorded operator computed the tensor.", "boolean");

  registry.add(Entry("tensor:item", "method", "The value of a tensor with one element. Waits for the device.")
                   .returns("number, or boolean")
                   .note("A 64-bit integer that a Lua number cannot hold exactly is an error."));
  registry.add(Entry("tensor:tolist", "method", "All values as nested lists. Waits for the device.").returns("table"));
  registry.add(Entry("tensor:dim", "method", "Number of dimensions.").returns("integer"));
  registry.add(Entry("tensor:numel", "method", "Number of elements.").returns("integer"));
  registry.add(
      Entry("tensor:requires_grad", "method", "Tells whether gradients are computed for the tensor, or sets this.")
          .with(Option("value", "the new setting").boolean().positional())
          .returns("boolean if no value is given, else the tensor")
          .example("local w = lab.tensor.zeros(3):requires_grad(true)"));
  registry.add(
      Entry("tensor:backward", "method",
            "Computes the gradients of all tensors from which this tensor was computed, and adds them to their t.grad.")
          .with(
              Option("gradient", "gradient of this tensor, of the same shape; needed unless the tensor has one element")
                  .any()
                  .positional())
          .with(Option("retain_graph", "keep the graph for another backward()").boolean().or_default(false))
          .with(Option("create_graph", "make the gradients differentiable too").boolean().or_default(false))
          .example("loss:backward()"));
  registry.add(
      Entry("tensor:release", "method", "Frees the tensor's memory now; using the tensor afterwards is an error."));
}

}  // namespace

void register_tensors(Registry& registry) {
  register_making(registry);
  register_members(registry);
  registry.add(Entry("no_grad", "function", "Calls a function without recording operators for backward().")
                   .with(Option("f", "the function").function("function(…) → …").required().positional())
                   .with(Option("arguments", "arguments of the function").any().positional())
                   .returns("the values that the function returns")
                   .example("local y = lab.no_grad(function() return x * 2 end)"));
  registry.add(
      Entry("scope", "function",
            "Calls a function, then releases all tensors made during the call except those that the function returns.")
          .with(Option("f", "the function").function("function(…) → …").required().positional())
          .with(Option("arguments", "arguments of the function").any().positional())
          .returns("the values that the function returns")
          .example("local mean = lab.scope(function() return (x * x):mean() end)"));
}

}  // namespace trainlab
