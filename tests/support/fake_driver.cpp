// libcuda.so.1 in name alone: a driver of the version FAKE_DRIVER_VERSION (13000 is CUDA 13.0) whose every call ends
// with the status FAKE_DRIVER_STATUS (100: there is no GPU). Tests meet drivers by it that this machine does not have.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

int number(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

int any_call() { return number("FAKE_DRIVER_STATUS"); }

}  // namespace

extern "C" {
int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuGetExportTable(const void** table, const void* id);
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* status);

int cuInit(unsigned) { return any_call(); }

int cuDriverGetVersion(int* version) {
  *version = number("FAKE_DRIVER_VERSION");
  return 0;
}

int cuGetExportTable(const void**, const void*) { return any_call(); }

int cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t, int* status) {
  *function = reinterpret_cast<void*>(any_call);
  if (std::strcmp(name, "cuInit") == 0) *function = reinterpret_cast<void*>(cuInit);
  if (std::strcmp(name, "cuDriverGetVersion") == 0) *function = reinterpret_cast<void*>(cuDriverGetVersion);
  if (std::strcmp(name, "cuGetExportTable") == 0) *function = reinterpret_cast<void*>(cuGetExportTable);
  if (std::strcmp(name, "cuGetProcAddress") == 0) *function = reinterpret_cast<void*>(cuGetProcAddress_v2);
  if (status != nullptr) *status = 0;
  return 0;
}
}
