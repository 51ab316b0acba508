// The names that users of PyTorch, Lightning, Keras and Optuna give to things that recipes call otherwise, for hints in
// messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainlab {

// The one of `names` that `word` means elsewhere ("batch_size" means batch, "acc" accuracy); or empty.
std::string called_here(std::string_view word, const std::vector<std::string>& names);

// How recipes do what an option of this name does elsewhere, where that is no option here ("device"); or empty.
std::string_view said_otherwise(std::string_view option);

// The same for an option of a layer ("in_features"); or empty.
std::string_view said_otherwise_of_layer(std::string_view option);

// How recipes do what a member of a library of this name does elsewhere ("DataLoader"); or empty.
std::string_view member_otherwise(std::string_view name);

// How recipes do what a member of an object does elsewhere: of a "tensor" ("numpy"), a "model" ("state_dict"), …; or
// empty.
std::string_view member_otherwise(std::string_view object, std::string_view name);

// The command of trainlab for what other programs call so ("train"), or for a word near to such a name or to one of
// `commands`; or empty.
std::string command_meant(std::string_view word, const std::vector<std::string>& commands);

}  // namespace trainlab
