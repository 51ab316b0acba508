#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "engine/core/sample_registry.h"

namespace trainlab::help_test {

namespace {

const Registry& entries() {
  static const Registry r = sample::registry();
  return r;
}

std::size_t characters(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("types are put into words") {
  const auto type = [](const char* entry, const char* option) {
    return entries().find(entry)->find(option)->type_text();
  };
  CHECK(type("nn.Linear", "out") == "integer ≥ 1");
  CHECK(type("optim.SGD", "lr") == "number > 0");
  CHECK(type("loss.cross_entropy", "smoothing") == "number in [0, 1]");
  CHECK(type("optim.AdamW", "betas") == "number in [0, 1), or a list of 2");
  CHECK(type("fit", "goal") == "\"min\" or \"max\"");
  CHECK(type("fit", "loss") == "a loss or function(out, batch) → scalar[, count]");
  CHECK(type("nn.Sequential", "layers") == "a layer, or a list of them");
  CHECK(type("fit", "data") == "a data source");
  CHECK(Option("x", "doc").number().at_most(3).type_text() == "number ≤ 3");
}

TEST_CASE("help shows the call, the options and the rest") {
  CHECK(help_text(*entries().find("nn.Linear")) ==
        "lab.nn.Linear(out, { … })    layer\n"
        "\n"
        "Affine map y = x Wᵀ + b.\n"
        "\n"
        "  out   integer ≥ 1  required  number of outputs\n"
        "  bias  boolean      true      learn an additive bias\n"
        "\n"
        "Initialised as PyTorch does.\n"
        "\n"
        "Example:\n"
        "  nn.Linear(64)\n");
  CHECK(help_text(*entries().find("data:take")) ==
        "data:take(n)    data source\n"
        "\n"
        "The first examples.\n"
        "\n"
        "  n  integer ≥ 1  required  how many\n");
  CHECK(contains(help_text(*entries().find("nn.Conv2d")), "integer ≥ 1, or a list of 2"));
  CHECK(contains(help_text(*entries().find("nn.Conv2d")), "[pixels]"));
  CHECK(help_text(*entries().find("run.step")) == "run.step    field\n\nOptimizer steps done.\n\nReturns integer.\n");
  CHECK(contains(help_text(*entries().find("fit")), "  loader.threads    integer ≥ 0 "));
  CHECK(contains(help_text(*entries().find("nn.Sequential")), "lab.nn.Sequential { layers …, … }"));
  CHECK(contains(help_text(*entries().find("optim.AdamW")), "{ 0.9, 0.999 }"));
}

TEST_CASE("help keeps to the width, and loses no word of it") {
  Entry entry("x.Long", "layer",
              "A doc of several sentences. It is longer than any terminal is wide, so it must be wrapped.");
  entry.with(
      Option("option", "a doc that is also longer than the column which it has to fit into, by some words").number());
  for (const int width : {50, 80, 100, 200}) {
    std::istringstream lines(help_text(entry, width));
    std::string line, words;
    while (std::getline(lines, line)) {
      CAPTURE(width, line);
      CHECK(characters(line) <= static_cast<std::size_t>(width));
      CHECK((line.empty() || line.back() != ' '));
      words += std::regex_replace(line, std::regex(" +"), " ") + (line.empty() ? "" : " ");
    }
    CHECK(contains(words, "It is longer than any terminal is wide, so it must be wrapped."));
  }
}

TEST_CASE("the reference page holds every entry with every option") {
  const std::string page = reference_markdown(entries());
  CHECK(page.starts_with("<!-- Generated"));
  for (const Entry* entry : entries().entries()) {
    CAPTURE(entry->name);
    const auto start = page.find("<a id=\"" + entry->name + "\"></a>");
    REQUIRE(start != std::string::npos);
    CHECK(contains(page, "(#" + entry->name + ")"));
    const std::string section = page.substr(start, page.find("\n### ", start) - start);
    CHECK(contains(section, entry->doc));
    for (const Option& option : entry->options) {
      if (option.name != "source") CHECK(contains(section, "| `" + option.name + "` | "));
    }
  }
  // A bar in a cell would end it.
  CHECK(contains(page, R"(a stop rule or function(run) → reason \| nil, or a list of them)"));
}

TEST_CASE("the completion file is Lua, line by line, and types every option") {
  const std::string meta = luacats_meta(entries());
  CHECK(meta.starts_with("---@meta\n"));
  const std::regex lua(
      "(---?.*|lab(\\.\\w+)* = \\{\\}|local \\w+ = \\{\\}|function \\w+([.:]\\w+)+\\((\\w+(, \\w+)*)?\\) end)?");
  std::istringstream lines(meta);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(std::regex_match(line, lua));
  }
  for (const char* part : {
           "---@class lab\n---@field seed integer The seed of the run.\nlab = {}\n",
           "---@class lab.layer\n",
           "---@alias lab.loss.name \"cross_entropy\"|\"mse\"\n",
           "lab.nn = {}\n",
           "---@field out? integer number of outputs, ≥ 1\n---@field bias? boolean learn an additive bias, default "
           "true\n",
           "---@param out integer number of outputs\n---@param options? lab.nn.Linear.options\n---@return lab.layer\n"
           "---@overload fun(options: lab.nn.Linear.options): lab.layer\nfunction lab.nn.Linear(out, options) end\n",
           "---@overload fun(...: lab.layer|lab.layer.name): lab.layer\nfunction lab.nn.Sequential(options) end\n",
           "---@field optim lab.optimizer|lab.optimizer.name the optimizer\n",
           "---@field loss? lab.loss|lab.loss.name|(fun(out: any, batch: any): any) what is minimised, default",
           "---@field validate? lab.duration how often, default \"1 epoch\"\n",
           "---@field goal? \"min\"|\"max\" better is\n",
           "---@field loader? lab.fit.options.loader how batches are made\n",
           "---@class lab.fit.options.loader\n---@field threads? integer worker threads, ≥ 0, default 1\n",
           "---@return lab.data\n---@overload fun(self: lab.data, options: lab.data.take.options): lab.data\n"
           "function data_methods:take(n) end\n",
           "---@class lab.run\n---@field step integer Optimizer steps done.\nlocal run_methods = {}\n",
           "---@param reason? string why\n---@return nil\nfunction run_methods:stop(reason) end\n",
           // A table that can be called, and the type that its result's words name.
           "---@overload fun(options: lab.tensor.options): lab.run\nlab.tensor = {}\n",
           "---@return any\n---@overload fun(options: lab.tensor.randn.options): any\nfunction lab.tensor.randn(shape) "
           "end\n",
       }) {
    CAPTURE(part);
    CHECK(contains(meta, part));
  }
  CHECK(meta.find("lab.tensor = {}") < meta.find("function lab.tensor.randn"));
  CHECK(meta.find("lab.nn = {}") < meta.find("function lab.nn.Linear"));
}

}  // namespace trainlab::help_test
