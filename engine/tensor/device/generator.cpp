#include "tensor/generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include "core/random/stream.h"

namespace trainlab {

const at::Generator& keyed_generator(Key key) {
  thread_local const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>();
  at::mt19937_data_pod state{};
  philox_fill(key, 0, state.state_);
  state.state_[0] |= 0x80000000U;  // so that the state is never all zero
  state.seed_ = key.bits();
  state.seeded_ = true;
  state.left_ = 1;  // so that the first draw makes a block of new words
  state.next_ = 0;
  at::mt19937 engine;
  engine.set_data(state);
  auto* implementation = generator.get<at::CPUGeneratorImpl>();
  implementation->set_engine(engine);
  implementation->set_next_float_normal_sample(std::nullopt);
  implementation->set_next_double_normal_sample(std::nullopt);
  return generator;
}

}  // namespace trainlab
