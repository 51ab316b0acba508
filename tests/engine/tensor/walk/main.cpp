// operator_walk [--calls N] [--odd N] [--seed N] [--only NAME]… : calls every operator that a recipe can name with
// made-up arguments, right and wrong ones, and expects a result or an error in words for the recipe's author, never a
// signal.
//
// Each call that gave a result is made again, --odd times, with one or two of its arguments made odd (arguments.h). The
// calls run in child processes with guarded memory (guarded_memory.h): a child that dies tells which call killed it,
// and a new one goes on behind that. Results are read to the last element, printed, and differentiated. A call that
// takes longer than 5 s of processor time is left, and counted as slow. Each call that gave a result is repeated on
// memory with other contents, which must not show in the result. Equal arguments give equal calls.
//
//   operator_walk                             200 calls of each overload
//   operator_walk --only conv2d --calls 9999
//   operator_walk --only conv2d --call 17     one call, here, with its arguments printed; 17.3: its third odd form
#include <ATen/Parallel.h>
#include <ATen/ops/real.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "arguments.h"
#include "guarded_memory.h"
#include "tensor/memory.h"
#include "tensor/operator_errors.h"
#include "tensor/text.h"
#include "tensor/types.h"

extern char** environ;

namespace {

using namespace trainlab;
using namespace trainlab::test;

constexpr std::size_t memory_limit = 64 << 20;
constexpr int seconds_of_call = 5;
constexpr int finds_of_overload = 3;   // then it is left
constexpr std::uint64_t forms = 1000;  // of a call: call number n is form n % forms, of which 0 is the plain one

struct Request {
  std::uint64_t calls = 200, odd = 0, seed = 1;
  std::set<std::string> only;
  std::optional<std::uint64_t> call;
  // of a child
  int progress = -1;
  std::size_t first_overload = 0;
  std::uint64_t first_call = 0;
};

// What a child tells, in shared memory.
struct Progress {
  std::uint64_t overload, call, results, errors, wordless, unwritten;
};

std::string call_text(std::uint64_t number) {
  return std::to_string(number / forms) + (number % forms > 0 ? "." + std::to_string(number % forms) : "");
}

// What a recipe's author cannot make anything of.
bool has_inner_words(const std::string& text) {
  for (const char* inner : {"internal error", "INTERNAL ASSERT", "report a bug", "enhancement request", "enforce fail",
                            "Exception raised from", "frame #", "c10::", "at::", "std::"}) {
    if (text.find(inner) != std::string::npos) return true;
  }
  return text.empty();
}

std::vector<const Overload*> overloads(const Request& request) {
  std::vector<const Overload*> all;
  for (const std::string& name : operator_names()) {
    if (!request.only.empty() && !request.only.contains(name)) continue;
    for (const Overload& overload : find_operator(name)->overloads()) all.push_back(&overload);
  }
  return all;
}

std::string name_of(const Overload& overload) {
  return overload.schema().name().substr(6) + "." + overload.schema().overload_name();
}

// Adds the bytes to `digest` (FNV-1a).
void use(const at::Tensor& result, std::uint64_t& digest) {
  if (!result.defined()) return;
  (void)tensor_text(result);
  const at::Tensor dense = result.layout() == at::kStrided ? result : result.to_dense();
  const at::Tensor copy = dense.detach().clone(at::MemoryFormat::Contiguous);
  const auto* bytes = static_cast<const unsigned char*>(copy.const_data_ptr());
  for (std::size_t i = 0; i < copy.nbytes(); ++i) digest = (digest ^ bytes[i]) * 1099511628211ULL;
  if (!dense.requires_grad()) return;
  at::Tensor sum = dense.sum();
  if (sum.is_complex()) sum = at::real(sum);
  sum.backward();
}

void use(const c10::IValue& result, std::uint64_t& digest) {
  if (result.isTensor()) use(result.toTensor(), digest);
  if (!result.isList()) return;
  for (const c10::IValue& element : result.toListRef()) use(element, digest);
}

struct End {
  enum { result, error, wordless_error } kind;
  std::uint64_t digest = 0;  // of the results
};

// Whether it gave a result, which could be used.
End call_with(int fill, const Overload& overload, std::uint64_t number, const Request& request, bool print) {
  number % 2 == 0 ? guard_ends() : guard_beginnings();
  fill_memory(fill);
  const Key key = Key(request.seed).fold(name_of(overload)).fold(number / forms);
  const Operator& op = *find_operator(overload.schema().name().substr(6));
  try {
    MadeArguments made(overload, Stream(key));
    if (number % forms > 0) made.twist(Stream(key.fold("odd").fold(number % forms)));
    if (print) std::printf("%s\n%s", overload.text().c_str(), made.text().c_str());
    std::fflush(stdout);
    torch::jit::Stack results;
    Stream random(key.fold("draws"));
    // As a script's call: which may be taken by another form of the operator.
    const Overload& chosen = op.choose(made.get());
    try {
      chosen.call(made.get(), random, results);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw op.explain(chosen, made.get(), error);
    }
    if (print) std::printf("%zu results\n", results.size());
    End end{End::result};
    for (const c10::IValue& result : results) with_operator_errors([&] { use(result, end.digest); });
    return end;
  } catch (const Error& error) {
    const bool wordless = has_inner_words(error.what());
    if (print || wordless)
      std::printf("%s, call %s: %s\n", name_of(overload).c_str(), call_text(number).c_str(), error.what());
    return {wordless ? End::wordless_error : End::error};
  }
}

// Memory that a kernel should have written and did not is found by calling a second time on other memory.
bool gives_unwritten_memory(const Overload& overload, std::uint64_t number, const Request& request, const End& first) {
  const End second = call_with(0x3f, overload, number, request, false);
  if (second.kind == End::result && second.digest == first.digest) return false;
  std::printf("%s, call %s: a result that was never written\n", name_of(overload).c_str(), call_text(number).c_str());
  return true;
}

// What kernels take beside tensors could take all that the machine has.
void limit_address_space() {
#if !defined(__SANITIZE_ADDRESS__)  // which takes the address space itself
  constexpr rlim_t bytes = rlim_t{6} << 30;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

void run_child(const Request& request) {
  auto& progress =
      *static_cast<Progress*>(mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, request.progress, 0));
  const std::vector<const Overload*> all = overloads(request);
  guard_memory(memory_limit);
  limit_address_space();
  const itimerval limit{{}, {seconds_of_call, 0}};
  std::uint64_t number = request.first_call;
  for (std::size_t i = request.first_overload; i < all.size(); ++i, number = 0) {
    while (number < request.calls * forms) {
      progress.overload = i;
      progress.call = number;
      setitimer(ITIMER_PROF, &limit, nullptr);
      const End end = call_with(0, *all[i], number, request, false);
      ++(end.kind == End::result ? progress.results : progress.errors);
      if (end.kind == End::wordless_error) ++progress.wordless;
      if (end.kind == End::result && gives_unwritten_memory(*all[i], number, request, end)) ++progress.unwritten;
      // Odd forms are made of a call that gave a result.
      const std::uint64_t form = number % forms;
      const bool goes_on = form < request.odd && (form > 0 || end.kind == End::result);
      number = goes_on ? number + 1 : (number / forms + 1) * forms;
    }
  }
}

// The status of a child that began there.
int spawn_child(const Request& request, const std::vector<std::string>& words, std::size_t overload,
                std::uint64_t first) {
  std::vector<std::string> texts = words;
  texts.insert(texts.end(),
               {"--child", std::to_string(request.progress), std::to_string(overload), std::to_string(first)});
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);  // LibTorch's warnings
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    std::fprintf(stderr, "no child process: %s\n", std::strerror(failed));
    std::exit(2);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int walk(Request request, const std::vector<std::string>& words) {
  const std::vector<const Overload*> all = overloads(request);
  request.progress = memfd_create("progress", 0);
  if (all.empty() || request.progress < 0 || ftruncate(request.progress, sizeof(Progress)) != 0) {
    std::fprintf(stderr, "there are no such operators\n");
    return 2;
  }
  const auto& progress =
      *static_cast<const Progress*>(mmap(nullptr, sizeof(Progress), PROT_READ, MAP_SHARED, request.progress, 0));
  int finds = 0, slow = 0, finds_here = 0;
  std::uint64_t overload = 0, first = 0;
  while (overload < all.size()) {
    const int status = spawn_child(request, words, overload, first);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    if (!WIFSIGNALED(status)) {
      std::printf("the child ended with status %d\n", WEXITSTATUS(status));
      return 1;
    }
    if (progress.overload != overload) finds_here = 0;
    overload = progress.overload;
    const std::string name = name_of(*all[overload]);
    const bool too_slow = WTERMSIG(status) == SIGPROF;
    ++(too_slow ? slow : finds);
    std::printf("%s, call %s: %s\n", name.c_str(), call_text(progress.call).c_str(),
                too_slow ? "slow" : strsignal(WTERMSIG(status)));
    std::fflush(stdout);
    const bool last_form = progress.call % forms >= request.odd || progress.call % forms == 0;
    first = last_form ? (progress.call / forms + 1) * forms : progress.call + 1;
    if (++finds_here >= finds_of_overload || first >= request.calls * forms) {
      finds_here = 0;
      ++overload;
      first = 0;
    }
  }
  std::printf(
      "%zu overloads: %llu results, %llu of them never written, %llu errors, %llu of them in inner words, %d slow, "
      "%d ended by a signal\n",
      all.size(), static_cast<unsigned long long>(progress.results),
      static_cast<unsigned long long>(progress.unwritten), static_cast<unsigned long long>(progress.errors),
      static_cast<unsigned long long>(progress.wordless), slow, finds);
  return finds > 0 || progress.wordless > 0 || progress.unwritten > 0 ? 1 : 0;
}

int call_once(const Request& request) {
  guard_memory(memory_limit);
  for (const Overload* overload : overloads(request)) {
    std::printf("%s: ", name_of(*overload).c_str());
    (void)call_with(0, *overload, *request.call, request, true);
  }
  return 0;
}

}  // namespace

int main(int count, char** given) {
  std::vector<std::string> words(given, given + count);
  Request request;
  const auto whole = [&](std::size_t at) { return std::strtoull(words[at].c_str(), nullptr, 10); };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t left = words.size() - i - 1;
    if (words[i] == "--calls" && left >= 1) {
      request.calls = whole(++i);
    } else if (words[i] == "--odd" && left >= 1) {
      request.odd = std::min(whole(++i), forms - 1ULL);
    } else if (words[i] == "--seed" && left >= 1) {
      request.seed = whole(++i);
    } else if (words[i] == "--call" && left >= 1) {
      const std::size_t dot = words[++i].find('.');
      const std::string form = dot == std::string::npos ? "0" : words[i].substr(dot + 1);
      request.call = whole(i) * forms + std::strtoull(form.c_str(), nullptr, 10);
    } else if (words[i] == "--only" && left >= 1) {
      request.only.insert(words[++i]);
    } else if (words[i] == "--child" && left >= 3) {
      request.progress = static_cast<int>(whole(i + 1));
      request.first_overload = whole(i + 2);
      request.first_call = whole(i + 3);
      i += 3;
    } else {
      std::fprintf(stderr, "usage: operator_walk [--calls N] [--odd N] [--seed N] [--only NAME]… [--call N[.FORM]]\n");
      return 2;
    }
  }
  at::set_num_threads(1);
  count_tensor_memory();
  if (request.call) return call_once(request);
  if (request.progress < 0) return walk(request, words);
  run_child(request);
  std::_Exit(0);  // static objects would free tensors of the allocator before
}
