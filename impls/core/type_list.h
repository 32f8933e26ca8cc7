// A list of types: what a roster is.
#pragma once

namespace timerbench {

template <class... Types>
struct TypeList {};

}  // namespace timerbench
