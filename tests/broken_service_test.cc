// The checks of services bite: each deliberately broken one is caught within seconds, and the sound
// one that they are made from passes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "broken_services.h"
#include "realtime/make_service.h"
#include "verify/service_verification.h"

namespace timerbench {
namespace {

constexpr unsigned kMostSeconds = 10;  // of one check

// How the verification of a service ends, in a process of its own: it may hang, or end that.
std::string verdict(const ServiceBackend& backend) {
  const pid_t child = fork();
  if (child == 0) {
    const auto begin = [](std::string_view) { alarm(kMostSeconds); };
    const StopFlag never = false;
    const auto violation = find_violation(backend, {.seconds = 0.5}, begin, never);
    if (violation) fmt::print("{}: {}\n", backend.traits.name, *violation);
    std::fflush(stdout);
    _exit(violation ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "crashes";
  return WEXITSTATUS(status) == 0 ? "sound" : "wrong";
}

template <class... Services>
std::vector<ServiceBackend> backends_of(TypeList<Services...>) {
  return {make_service_backend<Services>()...};
}

std::string name_of_service(const testing::TestParamInfo<ServiceBackend>& info) {
  return std::string(info.param.traits.name);
}

class BrokenServiceTest : public testing::TestWithParam<ServiceBackend> {};

TEST_P(BrokenServiceTest, IsCaught) { EXPECT_NE(verdict(GetParam()), "sound"); }

INSTANTIATE_TEST_SUITE_P(Bugs, BrokenServiceTest, testing::ValuesIn(backends_of(BrokenServices{})),
                         name_of_service);
INSTANTIATE_TEST_SUITE_P(UnderLoad, BrokenServiceTest,
                         testing::ValuesIn(backends_of(BrokenUnderLoad{})), name_of_service);

TEST(SoundServiceTest, Passes) {
  EXPECT_EQ(verdict(make_service_backend<SoundService>()), "sound");
}

}  // namespace
}  // namespace timerbench
