// A reader-writer lock: a writer waits for the readers that hold the lock, and new readers wait for
// the writer.
//
// std::shared_mutex lets new readers pass a waiting writer. While threads arm timers without a
// pause, the thread that moves time on would starve. A Java ReentrantReadWriteLock queues new
// readers behind a waiting writer, as this lock does.
#pragma once

#include <pthread.h>

namespace timerbench {

// Has the interface that std::unique_lock and std::shared_lock need. REQUIRES: no thread locks it
// twice.
class FairSharedMutex {
 public:
  FairSharedMutex() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  FairSharedMutex(const FairSharedMutex&) = delete;
  FairSharedMutex& operator=(const FairSharedMutex&) = delete;
  ~FairSharedMutex() { pthread_rwlock_destroy(&lock_); }

  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

}  // namespace timerbench
