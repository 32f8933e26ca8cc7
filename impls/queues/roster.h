// The backends. A new one is a header and a line here.
#pragma once

#include "core/type_list.h"
#include "queues/avl_multiset.h"
#include "queues/btree.h"
#include "queues/calendar_queue.h"
#include "queues/dary_heap.h"
#include "queues/fibonacci_heap.h"
#include "queues/index_heap.h"
#include "queues/kafka_wheel.h"
#include "queues/ladder_queue.h"
#include "queues/lawn.h"
#include "queues/lazy_heap.h"
#include "queues/linux_wheel.h"
#include "queues/log_calendar.h"
#include "queues/log_ring.h"
#include "queues/log_wheel.h"
#include "queues/null.h"
#include "queues/one_store.h"
#include "queues/ordered_map.h"
#include "queues/pairing_heap.h"
#include "queues/radix_heap.h"
#include "queues/ring.h"
#include "queues/scan.h"
#include "queues/segment_tree.h"
#include "queues/skiplist.h"
#include "queues/tick_map.h"
#include "redis/redis_zset.h"
#include "redis/redis_zset_poll.h"

namespace timerbench {

// In the order of every table and plot.
using Roster = TypeList<  //
    Null,                 // controls: never ranked
    OneStore,             //
    Scan,                 //
    TickMap,              //
    Lawn,                 //
    OrderedMap,           //
    AvlMultiset,          //
    BTree,                //
    SegmentTree,          //
    BinaryHeap,           //
    QuadHeap,             //
    IndexHeap<2>,         //
    IndexHeap<4>,         //
    IndexHeap<8>,         //
    PairingHeap,          //
    FibonacciHeap,        //
    LazyHeap,             //
    RadixHeap,            //
    Skiplist,             //
    RedisZset,            //
    RedisZsetPoll,        //
    Ring<512>,            //
    Ring<65536>,          //
    LogRing<65536>,       //
    KafkaWheel<20>,       //
    KafkaWheel<60>,       //
    KafkaWheel<64>,       //
    KafkaWheel<256>,      //
    KafkaWheel<512>,      //
    KafkaWheelFloor<20>,  //
    LogWheel<256>,        //
    CalendarQueue,        //
    LadderQueue,          //
    LogCalendar<256>,     //
    LinuxWheel>;

}  // namespace timerbench
