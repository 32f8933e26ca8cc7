// The services. A new one is a header and a line here.
#pragma once

#include "core/type_list.h"
#include "queues/dary_heap.h"
#include "queues/kafka_wheel.h"
#include "queues/scan.h"
#include "services/locked.h"

namespace timerbench {

// In the order of every table and plot.
using ServiceRoster = TypeList<  //
    Ticking<Scan>,               //
    Locked<BinaryHeap>,          //
    Locked<KafkaWheel<256>>>;

}  // namespace timerbench
