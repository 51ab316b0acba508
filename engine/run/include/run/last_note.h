// LastNote: the operation in which an engine ended without a word, on a page of memory that the engine shares with its
// supervisor.
#pragma once

#include <string>
#include <string_view>

namespace trainlab {

// Supervisor's side. The page is the engine's under note_fd.
class LastNote {
 public:
  LastNote();  // Raises Error{run} where the system gives no memory
  ~LastNote();
  LastNote(const LastNote&) = delete;

  int fd() const { return fd_; }

  // Once the engine has ended. `operation` is empty where the engine did nothing that it notes.
  struct Words {
    std::string operation;  // "lab.ops.matmul"
    std::string file;       // of the recipe
    int line = 0;           // 0: not known
  };
  Words read() const;

 private:
  int fd_ = -1;
  void* page_ = nullptr;
};

// The descriptor that an engine finds the page under.
constexpr int note_fd = 4;

// Engine's side. open_last_note() once; without a page the notes go nowhere. The others may be called by a handler of
// signals, by one thread at a time.
void open_last_note();
void write_last_note(const char* operation, const char* file, int line);
void clear_last_note();

}  // namespace trainlab
