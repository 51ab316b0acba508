#include "native_numbers.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "core/error.h"

namespace trainlab {

namespace {

// The format that lua_dump writes: LuaJIT 2.1, src/lj_bcdump.h and src/lj_bcwrite.c.
constexpr std::string_view signature = "\x1bLJ\x02";
constexpr std::uint64_t has_native_numbers = 4;   // a flag of the whole, which includes the functions within
constexpr unsigned char load_native_number = 40;  // BC_KCDATA, src/lj_bc.h
constexpr std::size_t instruction_bytes = 4;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::string_view bytes(std::size_t count) {
    if (count > left_.size()) throw run_error("LuaJIT has written a function that ends early");
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  // ULEB128: seven bits a byte, the lowest first.
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  std::string_view left_;
};

// Bytes that the line of an instruction takes, which is counted from the function's first line.
std::size_t line_bytes(std::uint64_t lines) { return lines < 1 << 8 ? 1 : lines < 1 << 16 ? 2 : 4; }

std::optional<int> line_in_function(std::string_view bytes) {
  Reader reader(bytes);
  reader.bytes(3);  // flags, parameters, slots
  reader.bytes(1);  // upvalues
  reader.number();  // constants that are objects
  reader.number();  // constants that are numbers
  const std::size_t instructions = reader.number();
  const std::size_t debug = reader.number();
  const std::uint64_t first = reader.number(), lines = reader.number();
  const std::string_view code = reader.bytes(instructions * instruction_bytes);
  if (debug > bytes.size()) throw run_error("LuaJIT has written a function that ends early");
  const std::string_view positions = bytes.substr(bytes.size() - debug);
  for (std::size_t i = 0; i < instructions; ++i) {
    if (static_cast<unsigned char>(code[i * instruction_bytes]) != load_native_number) continue;
    std::uint32_t line = 0;
    const std::size_t size = line_bytes(lines);
    Reader position(positions);
    position.bytes(i * size);
    std::memcpy(&line, position.bytes(size).data(), size);
    return static_cast<int>(first + line);
  }
  return std::nullopt;
}

// A lua_Writer. LuaJIT must not meet an exception.
int append(lua_State*, const void* bytes, std::size_t count, void* text) {
  try {
    static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), count);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

}  // namespace

std::optional<int> native_number_line(lua_State* L) {
  std::string dumped;
  if (lua_dump(L, append, &dumped) != 0) throw run_error("out of memory");
  if (!dumped.starts_with(signature)) throw run_error("this LuaJIT writes functions in another form than version 2.1");
  Reader reader(dumped);
  reader.bytes(signature.size());
  if ((reader.number() & has_native_numbers) == 0) return std::nullopt;
  reader.bytes(reader.number());  // the name of the file
  // Functions stand before the function in which they are, each by itself; an empty one ends the list.
  std::optional<int> earliest;
  while (const std::uint64_t size = reader.number()) {
    const std::optional<int> line = line_in_function(reader.bytes(size));
    if (line && (!earliest || *line < *earliest)) earliest = line;
  }
  return earliest.value_or(1);
}

}  // namespace trainlab
