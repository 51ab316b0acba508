// data.digits: the small data set that is part of the program (assets/NOTICE).
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <limits>
#include <stdexcept>

#include "embedded/digits.h"
#include "formats/input_file.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// Rows of 64 pixels and a label, separated by single commas and line ends.
Dataset read_digits() {
  constexpr std::int64_t images = 1797, pixels = 64, classes = 10;
  InputFile file(embedded::digits::digits_csv_gz(), "digits.csv.gz");
  const std::string text = file.read_all(std::int64_t{1} << 20);
  at::Tensor x = at::empty({images, 1, 8, 8}, at::kByte), y = at::empty({images}, at::kLong);
  auto* pixel = x.mutable_data_ptr<std::uint8_t>();
  auto* label = y.mutable_data_ptr<std::int64_t>();
  std::size_t at = 0;
  for (std::int64_t i = 0; i < images * (pixels + 1); ++i) {
    int number = 0;
    const std::size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) number = number * 10 + (text[at] - '0');
    const bool is_label = i % (pixels + 1) == pixels;
    if (at == begin || number > (is_label ? classes - 1 : 16))
      throw std::logic_error("the embedded digits are damaged");
    if (is_label) {
      *label++ = number;
    } else {
      *pixel++ = static_cast<std::uint8_t>(number);
    }
    ++at;
  }
  Dataset digits;
  digits.columns = {{"x", x, at::scalar_tensor(1.0 / 16, at::kFloat), {}}, {"y", y, {}, {}}};
  digits.size = images;
  digits.classes = classes;
  return digits;
}

}  // namespace

void register_source_digits(Registry& registry) {
  registry.add(
      Entry("data.digits", "data", "1,797 handwritten digits of 8 x 8 pixels; part of trainlab, no file is needed.")
          .returns("x float32 [1, 8, 8] in 0…1, y int64 in 0…9; one training part")
          .example("lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 }")
          .note("The test part of \"Optical Recognition of Handwritten Digits\" by E. Alpaydin and C. Kaynak "
                "(1998), UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, licence CC BY 4.0."),
      DataFactory{[](const Options&, const DataContext&) {
        DataParts parts;
        parts.train = whole(read_digits());
        return parts;
      }});
}

}  // namespace trainlab
