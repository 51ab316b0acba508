#include "predict/prediction_text.h"

#include <ATen/ops/argmax.h>

#include <charconv>
#include <cmath>

#include "core/words.h"

namespace trainlab {

namespace {

// The double with the fewest digits that reads back as this float32.
double shown(double number, at::ScalarType type) {
  if (type != at::kFloat || !std::isfinite(number)) return number;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(number)).ptr;
  double short_number = 0;
  std::from_chars(text, end, short_number);
  return short_number;
}

class Writer {
 public:
  Writer(const Predictor& predictor, const Prediction& prediction)
      : file_(predictor.file()),
        names_(prediction.names),
        type_(prediction.mean.scalar_type()),
        out_(prediction.mean.to(at::kDouble).contiguous()) {
    if (prediction.spread.defined()) spread_ = prediction.spread.to(at::kDouble).contiguous();
    is_class_ = file_.meaning == Meaning::classes || file_.meaning == Meaning::binary;
    is_flat_ = out_.dim() <= 2;
    if (is_class_) {
      const std::int64_t axis = file_.meaning == Meaning::classes && file_.classes_first ? 1 : -1;
      best_ = out_.argmax(axis);
      for (std::int64_t c = 0; c < file_.classes; ++c) labels_.push_back(file_.class_name(c));
    } else {
      labels_ = value_names(predictor);
    }
  }

  std::string csv() const {
    if (!is_flat_) {
      throw usage_error("an output of shape " + shape_text(out_.sizes().slice(1)) +
                        " for each input has no room in CSV")
          .hint("--format json");
    }
    std::string text = names_.empty() ? "index" : "file";
    if (is_class_) text += ",class";
    for (const std::string& label : labels_) text += "," + csv_field(is_class_ ? "p(" + label + ")" : label);
    if (spread_.defined()) {
      for (const std::string& label : labels_) text += "," + csv_field("spread(" + label + ")");
    }
    text += "\n";
    for (std::int64_t i = 0; i < out_.size(0); ++i) {
      text += names_.empty() ? std::to_string(i) : csv_field(names_[static_cast<std::size_t>(i)]);
      if (is_class_) text += "," + csv_field(labels_[best(i)]);
      for (const at::Tensor& numbers : {out_, spread_}) {
        if (!numbers.defined()) continue;
        for (std::size_t k = 0; k < labels_.size(); ++k) text += "," + number_text(number(numbers, i, k));
      }
      text += "\n";
    }
    return text;
  }

  std::string json() const {
    std::string text = "[";
    for (std::int64_t i = 0; i < out_.size(0); ++i) text += (i ? ",\n " : "") + to_json(object(i));
    return text + "]\n";
  }

 private:
  std::vector<std::string> value_names(const Predictor& predictor) const {
    const std::size_t count = is_flat_ ? static_cast<std::size_t>(out_.numel() / out_.size(0)) : 1;
    std::vector<std::string> names = target_names(predictor.data());
    if (names.size() == count) return names;
    if (count == 1) return {"value"};
    names.clear();
    for (std::size_t k = 0; k < count; ++k) names.push_back("value_" + std::to_string(k));
    return names;
  }

  double number(const at::Tensor& numbers, std::int64_t row, std::size_t k) const {
    const auto count = static_cast<std::size_t>(numbers.numel() / numbers.size(0));
    return shown(numbers.const_data_ptr<double>()[static_cast<std::size_t>(row) * count + k], type_);
  }
  std::size_t best(std::int64_t row) const {
    return static_cast<std::size_t>(best_.const_data_ptr<std::int64_t>()[row]);
  }

  Value class_value(std::int64_t number) const {
    return file_.class_names.empty() ? Value(number) : Value(file_.class_name(number));
  }

  // Nested lists.
  Value lists(const at::Tensor& tensor) const {
    if (tensor.dim() == 0) {
      if (tensor.scalar_type() == at::kLong) return class_value(tensor.item<std::int64_t>());
      return shown(tensor.item<double>(), type_);
    }
    Value::List list;
    for (std::int64_t i = 0; i < tensor.size(0); ++i) list.push_back(lists(tensor.select(0, i)));
    return list;
  }

  Value object(std::int64_t i) const {
    Value object = names_.empty() ? Value(Value::Map{{"index", i}})
                                  : Value(Value::Map{{"file", names_[static_cast<std::size_t>(i)]}});
    if (is_class_) object.set("class", lists(best_.select(0, i)));
    object.set(is_class_ ? "probabilities" : "values", numbers_of(out_, i));
    if (spread_.defined()) object.set("spread", numbers_of(spread_, i));
    return object;
  }

  // By label, or nested lists.
  Value numbers_of(const at::Tensor& tensor, std::int64_t i) const {
    if (!is_flat_) return lists(tensor.select(0, i));
    Value numbers = Value::Map{};
    for (std::size_t k = 0; k < labels_.size(); ++k) numbers.set(labels_[k], number(tensor, i, k));
    return numbers;
  }

  const ModelFile& file_;
  const std::vector<std::string>& names_;
  at::ScalarType type_;
  at::Tensor out_, spread_, best_;
  bool is_class_ = false, is_flat_ = false;
  std::vector<std::string> labels_;
};

}  // namespace

std::string prediction_text(const Predictor& predictor, const Prediction& prediction, PredictionFormat format) {
  const Writer writer(predictor, prediction);
  return format == PredictionFormat::csv ? writer.csv() : writer.json();
}

}  // namespace trainlab
