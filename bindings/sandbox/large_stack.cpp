#include "bindings/large_stack.h"

#include <pthread.h>

#include <exception>

#include "core/error.h"

namespace trainlab {

namespace {

struct Work {
  const std::function<void()>* body;
  std::exception_ptr failed;
};

void* run(void* argument) {
  auto* work = static_cast<Work*>(argument);
  try {
    (*work->body)();
  } catch (const std::exception&) {
    work->failed = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void on_large_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{256} << 20);
  Work work{&body, nullptr};
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, run, &work);
  pthread_attr_destroy(&attributes);
  if (failed != 0)
    throw run_error("a thread with a stack of 256 MiB cannot be started; is the address space limited (ulimit -v)?");
  pthread_join(thread, nullptr);
  if (work.failed) std::rethrow_exception(work.failed);
}

}  // namespace trainlab
