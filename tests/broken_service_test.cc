// The checks of services bite: each deliberately broken one is caught within seconds, and the sound
// one that they are made from passes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broken_services.h"
#include "realtime/make_service.h"
#include "verify/service_verification.h"

namespace timerbench {
namespace {

Verdict verdict(const ServiceBackend& backend) {
  const Verdict verdict =
      verify(backend, /*seed=*/1, /*seconds=*/0.5, [](const std::string& /*stage*/) {});
  fmt::print("{}: {}\n", backend.traits.name, verdict.line);
  return verdict;
}

template <class... Services>
std::vector<ServiceBackend> backends_of(TypeList<Services...>) {
  return {make_service_backend<Services>()...};
}

// The same services, as if they had a clock of their own; without the one that is a little late, as
// everything is on a busy machine.
std::vector<ServiceBackend> on_system_clock(std::vector<ServiceBackend> backends) {
  std::erase_if(backends, [](const ServiceBackend& backend) {
    return backend.traits.name == name_of(ServiceBug::not_rung_for_a_little_earlier);
  });
  for (ServiceBackend& backend : backends) backend.traits.own_clock = true;
  return backends;
}

std::string name_of_service(const testing::TestParamInfo<ServiceBackend>& info) {
  return std::string(info.param.traits.name);
}

class BrokenServiceTest : public testing::TestWithParam<ServiceBackend> {};

// An audit finds only races that happen, which on a busy machine takes several attempts.
TEST_P(BrokenServiceTest, IsCaught) {
  bool is_caught = false;
  for (int i = 0; i < 20 && !is_caught; ++i) is_caught = !verdict(GetParam()).is_ok;
  EXPECT_TRUE(is_caught);
}

INSTANTIATE_TEST_SUITE_P(Bugs, BrokenServiceTest, testing::ValuesIn(backends_of(BrokenServices{})),
                         name_of_service);
INSTANTIATE_TEST_SUITE_P(UnderLoad, BrokenServiceTest,
                         testing::ValuesIn(backends_of(BrokenUnderLoad{})), name_of_service);

INSTANTIATE_TEST_SUITE_P(OnSystemClock, BrokenServiceTest,
                         testing::ValuesIn(on_system_clock(backends_of(BrokenServices{}))),
                         name_of_service);

// What is told of a service that hangs, and of one that ends the process.
TEST(BrokenServiceVerdictTest, NamesTheScenario) {
  const std::string hangs =
      verdict(make_service_backend<BrokenService<ServiceBug::handler_under_lock>>()).line;
  EXPECT_THAT(hangs, testing::HasSubstr("timeout: nothing has happened for 10 s in rule_"));
  const std::string crashes =
      verdict(make_service_backend<BrokenService<ServiceBug::exception_escapes>>()).line;
  EXPECT_THAT(crashes, testing::HasSubstr("crash: SIGABRT in rule_4_throw"));
}

TEST(SoundServiceTest, Passes) { EXPECT_TRUE(verdict(make_service_backend<SoundService>()).is_ok); }

TEST(SoundServiceTest, PassesOnTheSystemsClock) {
  const Verdict verdict_there =
      verdict(on_system_clock({make_service_backend<SoundService>()}).front());
  EXPECT_TRUE(verdict_there.is_ok);
  EXPECT_THAT(verdict_there.line, testing::HasSubstr("without 3 that must set it (rule_1_falling"));
}

}  // namespace
}  // namespace timerbench
