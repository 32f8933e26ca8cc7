#include "faults/loop_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/backend_error.h"
#include "faults/run_program.h"

namespace timerbench {
namespace {

class File {
 public:
  File(const std::filesystem::path& path, int flags)
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) {
      throw BackendUnavailable(
          fmt::format("cannot open {}: {}; a disk whose power can be cut needs "
                      "root and loop devices",
                      path.string(), std::strerror(errno)));
    }
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void fail(std::string_view call) {
  throw BackendUnavailable(
      fmt::format("{}: {}; a disk whose power can be cut needs root and loop "
                  "devices",
                  call, std::strerror(errno)));
}

void make_file_system(const std::filesystem::path& image) {
  // All tables are written at once: else the kernel writes them later, in the middle of a run. There
  // are few of them, however large the disk is.
  run_program({"mkfs.ext4", "-q", "-F", "-m", "0", "-N", "16384", "-J", "size=16", "-E",
               "lazy_itable_init=0,lazy_journal_init=0", image},
              "install it (apt-get install e2fsprogs)");
}

// Only what was written: a copy of a new file system is small.
void copy_sparsely(const std::filesystem::path& from, const std::filesystem::path& to) {
  const File source(from, O_RDONLY), target(to, O_RDWR | O_CREAT | O_EXCL);
  if (ftruncate(target.get(), static_cast<off_t>(LoopDisk::kBytes)) != 0) fail("ftruncate");
  off_t begin = 0;
  while ((begin = lseek(source.get(), begin, SEEK_DATA)) >= 0) {
    const off_t end = lseek(source.get(), begin, SEEK_HOLE);
    for (off_t out = begin; begin < end;) {
      if (copy_file_range(source.get(), &begin, target.get(), &out,
                          static_cast<std::size_t>(end - begin), 0) <= 0) {
        fail("copy_file_range");
      }
    }
  }
  if (errno != ENXIO) fail("lseek");  // else there is no more data
}

// Another process may take the free device first.
File attach(const std::filesystem::path& image) {
  const File control("/dev/loop-control", O_RDWR), file(image, O_RDWR);
  for (int tries = 0;; ++tries) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) fail("LOOP_CTL_GET_FREE");
    const std::string path = fmt::format("/dev/loop{}", number);
    File device(path, O_RDWR);
    loop_config config{};
    config.fd = static_cast<__u32>(file.get());
    config.info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR;
    if (ioctl(device.get(), LOOP_CONFIGURE, &config) != 0) {
      if (errno == EBUSY && tries < 10) continue;
      fail("LOOP_CONFIGURE");
    }
    loop_info64 info{};
    if (ioctl(device.get(), LOOP_GET_STATUS64, &info) != 0) fail("LOOP_GET_STATUS64");
    if ((info.lo_flags & LO_FLAGS_DIRECT_IO) == 0) {
      throw BackendUnavailable(
          fmt::format("the file system of {} has no direct I/O; set TMPDIR to a folder of another",
                      image.string()));
    }
    return device;
  }
}

// Nobody else sees what is mounted from now on.
void have_own_mounts() {
  static bool has = false;
  if (has) return;
  if (unshare(CLONE_NEWNS) != 0) fail("unshare");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail("mount");
  has = true;
}

}  // namespace

std::string LoopDisk::unavailable() {
  if (geteuid() != 0) return "mounting a file needs root";
  if (access("/dev/loop-control", R_OK | W_OK) != 0) return "there are no loop devices";
  return has_program("mkfs.ext4") ? "" : "mkfs.ext4 is missing (apt-get install e2fsprogs)";
}

LoopDisk::LoopDisk() : folder_("timerbench-disk"), image_(folder_ / "image") {
  // The engine of another user must reach its folder. Nobody can list this one.
  chmod(folder_.path().c_str(), 0711);
  std::filesystem::create_directory(path());
  {
    const File file(image_, O_RDWR | O_CREAT | O_EXCL);
    if (ftruncate(file.get(), static_cast<off_t>(kBytes)) != 0) fail("ftruncate");
  }
  make_file_system(image_);
  have_own_mounts();
  mount();
}

LoopDisk::~LoopDisk() { umount2(path().c_str(), MNT_DETACH); }

// What nobody synchronises stays in memory: the kernel writes it after 30 seconds, and the journal
// of the file system after five minutes.
void LoopDisk::mount() {
  const File image_device = attach(image_);
  const std::string device =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", image_device.get()));
  if (::mount(device.c_str(), path().c_str(), "ext4", MS_NOATIME, "commit=300") != 0) {
    fail(fmt::format("mount {}", device));
  }
  chmod(path().c_str(), 0711);
}

void LoopDisk::synchronise() {
  const File root(path(), O_RDONLY | O_DIRECTORY);
  if (syncfs(root.get()) != 0) fail("syncfs");
}

void LoopDisk::cut_power() {
  const std::filesystem::path survived = folder_ / fmt::format("image_{}", ++cuts_);
  copy_sparsely(image_, survived);
  umount2(path().c_str(), MNT_DETACH);
  std::filesystem::remove(image_);  // it is there until nobody has a file of it open
  image_ = survived;
  mount();
}

std::uint64_t LoopDisk::free_bytes() const { return std::filesystem::space(path()).available; }

void LoopDisk::fill() {
  const File filler(path() / "filler", O_RDWR | O_CREAT);
  off_t size = 0;
  for (off_t step = static_cast<off_t>(kBytes); step > 0; step /= 2) {
    while (fallocate(filler.get(), 0, size, step) == 0) size += step;
  }
}

void LoopDisk::empty() { std::filesystem::remove(path() / "filler"); }

}  // namespace timerbench
