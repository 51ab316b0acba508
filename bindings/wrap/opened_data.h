// Data that a recipe itself reads: data.train, data.val and data.test of a source, opened at the first access.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/callable.h"
#include "data/dataset.h"

struct lua_State;

namespace trainlab {

class RecipeData {
 public:
  // `index`: the table of a data entry.
  RecipeData(lua_State* L, int index);
  const DataParts& parts();

 private:
  const Registry& registry_;
  std::shared_ptr<const Spec> spec_;
  std::int64_t seed_;
  bool describes_;  // only the recipe's parameters are wanted: there may be no data
  std::optional<DataParts> parts_;
};

// "train", "val" or "test" of some data.
class PartObject final : public Object {
 public:
  PartObject(std::shared_ptr<RecipeData> data, std::string name) : data_(std::move(data)), name_(std::move(name)) {}
  std::string_view type_name() const override { return "part"; }
  const std::string& name() const { return name_; }

  // Error{recipe} if the data has no such part.
  const Part& part() const;

 private:
  std::shared_ptr<RecipeData> data_;
  std::string name_;
};

// Pushes the part `name` of the data entry at `index`; each table is opened once.
void push_part(lua_State* L, int index, const std::string& name);

// Inside enter(), once: the types "part" and "loop".
void open_data_parts(lua_State* L);

}  // namespace trainlab
