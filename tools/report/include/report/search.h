// The search of `trainlab help WORD`: things that help knows, by name and text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trainlab::report {

// A thing that help can show: an entry, a command, a section of the documentation.
struct Topic {
  struct Part {
    std::string kind, name;  // "option", "warmup"; empty for further text
    std::string text;
  };
  std::string name;  // "nn.Linear"
  std::string line;  // the first line of the thing's help
  std::vector<Part> parts;
};

// The topics that have the word, in any case of letters: those of this name, then those with an option of this name,
// then those that have the word in the name, in the first line, and in the rest. Of several words, with spaces between
// them, a topic has all, one after another or each in another place. Each of the `most` topics has its name and at most
// two lines about it, of at most `width` (from 40) columns. Empty if there is none.
std::string found_text(std::span<const Topic> topics, const std::string& word, int width, std::size_t most = 40);

}  // namespace trainlab::report
