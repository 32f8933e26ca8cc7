// The services. A new one is a header and a line here.
#pragma once

#include "core/type_list.h"
#include "queues/dary_heap.h"
#include "queues/kafka_wheel.h"
#include "queues/log_wheel.h"
#include "queues/scan.h"
#include "services/delay_queue.h"
#include "services/java_timer.h"
#include "services/locked.h"
#include "services/redis_poller.h"
#include "services/ring_timer.h"
#include "services/sharded.h"
#include "services/system_timer.h"

namespace timerbench {

// In the order of every table and plot.
using ServiceRoster = TypeList<           //
    Ticking<Scan>,                        //
    Locked<BinaryHeap>,                   //
    Locked<KafkaWheel<256>>,              //
    Locked<LogWheel<256>>,                //
    JavaTimer,                            //
    DelayQueue,                           //
    RingTimer,                            //
    SystemTimer,                          //
    RedisPoller,                          //
    Sharded<Locked<KafkaWheel<256>>, 4>,  //
    Sharded<Locked<LogWheel<256>>, 4>>;

}  // namespace timerbench
