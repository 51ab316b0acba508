// Ahead: items 0, 1, 2 … made by worker threads and taken in order by one consumer.
//
// An item depends on its number only, so neither the number of threads nor their timing can be seen in what
// is taken. At most `capacity` items are being made or waiting at a time. Knows nothing of LibTorch, so that the
// thread sanitizer can watch it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace trainlab {

template <class Item>
class Ahead {
 public:
  using Make = std::function<Item(std::int64_t number)>;

  // threads ≥ 1, capacity ≥ 1. `make` is called from several threads at once. They start at the first take(). Items
  // from number `end` on are made only when the consumer comes to them.
  Ahead(int threads, std::int64_t capacity, Make make, std::int64_t end = std::numeric_limits<std::int64_t>::max())
      : threads_(static_cast<std::size_t>(threads)),
        make_(std::move(make)),
        slots_(static_cast<std::size_t>(capacity)),
        end_(end) {}

  // Waits for the items that are being made at the moment.
  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // The consumer goes on with item `number`; what was made before is forgotten.
  void seek(std::int64_t number) {
    std::vector<Slot> forgotten(slots_.size());
    {
      const std::lock_guard lock(mutex_);
      ++generation_;
      next_ = claimed_ = number;
      slots_.swap(forgotten);
    }
    room_.notify_all();
  }

  // How many items wait to be taken, at the moment.
  std::int64_t ready() {
    const std::lock_guard lock(mutex_);
    return std::ranges::count_if(slots_, [](const Slot& slot) { return slot.item.has_value(); });
  }

  // The next item; waits until it is made. What `make` threw for it is raised here, again at each call until seek().
  Item take() {
    while (workers_.size() < threads_) workers_.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    if (next_ >= end_) {
      end_ = next_ + 1;
      room_.notify_all();
    }
    ready_.wait(lock, [this] { return slot(next_).item || slot(next_).error; });
    if (const std::exception_ptr error = slot(next_).error) {
      lock.unlock();
      std::rethrow_exception(error);
    }
    Item item = std::move(*slot(next_).item);
    slot(next_).item.reset();
    ++next_;
    const bool wake = idle_ > 0 && may_go_on();
    lock.unlock();
    if (wake) room_.notify_all();
    return item;
  }

 private:
  struct Slot {
    std::optional<Item> item;
    std::exception_ptr error;
  };

  bool must_wait() const { return claimed_ >= end_ || claimed_ - next_ >= static_cast<std::int64_t>(slots_.size()); }
  // Waking a thread costs more than making a small item: a worker that ran out of room sleeps until half of it is free.
  bool may_go_on() const { return claimed_ < end_ && claimed_ - next_ <= static_cast<std::int64_t>(slots_.size() / 2); }

  Slot& slot(std::int64_t number) { return slots_[static_cast<std::size_t>(number) % slots_.size()]; }

  Slot made(std::int64_t number) const {
    Slot result;
    try {
      result.item.emplace(make_(number));
    } catch (...) {
      result.error = std::current_exception();
    }
    return result;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!stopping_ && must_wait()) {
        ++idle_;
        room_.wait(lock, [this] { return stopping_ || may_go_on(); });
        --idle_;
      }
      if (stopping_) return;
      const std::int64_t number = claimed_++;
      const std::uint64_t generation = generation_;
      lock.unlock();
      Slot result = made(number);
      lock.lock();
      if (generation != generation_) {
        lock.unlock();
        result = Slot();  // let go of outside the lock: an item may be large
        lock.lock();
        continue;
      }
      slot(number) = std::move(result);
      if (number == next_) ready_.notify_one();
    }
  }

  const std::size_t threads_;
  const Make make_;

  std::mutex mutex_;                     // guards what follows up to idle_
  std::condition_variable room_;         // an item may be claimed, or the end has come
  std::condition_variable ready_;        // item next_ is there
  std::vector<Slot> slots_;              // of item number % capacity
  std::int64_t next_ = 0, claimed_ = 0;  // to be taken; to be made
  std::int64_t end_;                     // none is made before the consumer comes to it
  std::uint64_t generation_ = 0;         // of seek(): an item begun before is dropped
  bool stopping_ = false;
  int idle_ = 0;

  std::vector<std::thread> workers_;  // of the consumer's thread only
};

}  // namespace trainlab
