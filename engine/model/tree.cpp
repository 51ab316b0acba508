// Model::tree: the layers as a table.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "model/model.h"

namespace trainlab {

namespace {

// Three digits and a decimal prefix: 0, 512, 25.8 k, 1.2 M.
std::string human(double x) {
  constexpr std::array prefixes = {"", " k", " M", " G", " T", " P"};
  std::size_t prefix = 0;
  while (x >= 999.5 && prefix + 1 < prefixes.size()) {
    x /= 1000;
    ++prefix;
  }
  char text[32];
  std::snprintf(text, sizeof text, prefix > 0 && x < 99.95 ? "%.1f%s" : "%.0f%s", x, prefixes[prefix]);
  return text;
}

// Columns of a terminal, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

using Row = std::array<std::string, 4>;  // layer, output, parameters, FLOPs

// A child's place in its parent: "[3]" of "model[3].Linear", "shortcut" of "model[2].Residual.shortcut".
std::string place(const Layer& parent, const Layer& child) {
  const std::string added = child.path.substr(parent.path.size());
  return added[0] == '[' ? added.substr(0, added.find('.')) : added.substr(1);
}

void add_rows(std::vector<Row>& rows, const Layer& layer, const std::string& label, std::size_t depth) {
  const double flops = layer.flops().forward;
  rows.push_back({std::string(2 * depth, ' ') + label + " " + layer.printed, shape_text(layer.output),
                  count_text(static_cast<double>(layer.own_parameters)), flops > 0 ? human(flops) : "0"});
  for (const Layer* child : layer.children()) add_rows(rows, *child, place(layer, *child), depth + 1);
}

}  // namespace

std::string Model::tree() const {
  std::vector<Row> rows = {{"layer", "output", "parameters", "FLOPs/sample"}};
  add_rows(rows, *root_, root_->path, 0);
  std::array<std::size_t, 4> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width(row[i]), ' ');
      if (i > 0) text += "  ";
      text += i < 2 ? row[i] + space : space + row[i];  // numbers to the right
    }
    text += "\n";
  }
  return text;
}

}  // namespace trainlab
