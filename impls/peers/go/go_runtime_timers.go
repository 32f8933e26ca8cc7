// The timers of Go's runtime: time.AfterFunc, Timer.Reset and Timer.Stop.
//
// What runs: all of the runtime, as a program has it, on one processor. A heap of four children
// holds the timers; a stopped one stays until it surfaces or a quarter are stopped; each fire
// starts a goroutine.
//
// Clock: the runtime is built with its tag `faketime`, as for the Go playground. Its clock stands
// still while any goroutine can run; when all sleep, it moves to the first timer. A tick is two
// nanoseconds. advance() sleeps until half a tick after its instant, so that all that fires then
// has run.
//
// Cannot: move the clock without putting its thread to sleep and waking it, at each instant at
// which something is due, and once for each advance(). A program that waits pays that too. Timers
// that are due when they are armed would fire before the next advance(), and wait in a map.
//
// Cost: arm and cancel O(1), and O(log n) for a timer that is not in the heap, with two objects
// the first time; advance O(log n) a timer, and 1 to 10 us an instant. 150 bytes a timer: the
// timer, its closure, a place in the heap.
//
// Follows: package time of Go 1.19, runtime/time.go and runtime/time_fake.go.

package main

import (
	"runtime"
	"time"
)

const tick = 2 // ns

type armed struct {
	timer    *time.Timer // nil: it was never armed
	deadline uint64
	pending  bool
}

type runtimeTimers struct {
	clock   uint64 // ns since the beginning
	armed   []armed
	size    int
	overdue map[uint32]struct{} // were due when they were armed
	now     uint64              // of the advance() that runs
	fires   *fires
}

func (t *runtimeTimers) arm(id uint32, now, deadline uint64) {
	one := &t.armed[id]
	due := deadline * tick
	if due <= t.clock || t.isOverdue(id) {
		t.cancel(id)
	}
	if !one.pending {
		one.pending = true
		t.size++
	}
	one.deadline = deadline
	if due <= t.clock {
		t.overdue[id] = struct{}{}
	} else if delay := time.Duration(due - t.clock); one.timer == nil {
		one.timer = time.AfterFunc(delay, func() { t.fire(id) })
	} else {
		one.timer.Reset(delay)
	}
}

func (t *runtimeTimers) cancel(id uint32) bool {
	one := &t.armed[id]
	if !one.pending {
		return false
	}
	one.pending = false
	t.size--
	if t.isOverdue(id) {
		delete(t.overdue, id)
	} else if !one.timer.Stop() {
		panic("a pending timer has fired")
	}
	return true
}

func (t *runtimeTimers) isOverdue(id uint32) bool {
	if len(t.overdue) == 0 {
		return false
	}
	_, is := t.overdue[id]
	return is
}

func (t *runtimeTimers) advance(now uint64, fires *fires) {
	t.now = now
	t.fires = fires
	for id := range t.overdue {
		delete(t.overdue, id)
		t.fire(id)
	}
	if until := now*tick + tick/2; until > t.clock {
		time.Sleep(time.Duration(until - t.clock))
		t.clock = until
	}
}

// Runs in the goroutine that the runtime starts, while advance() sleeps.
func (t *runtimeTimers) fire(id uint32) {
	t.armed[id].pending = false
	t.size--
	t.fires.add(t.now, id, t.armed[id].deadline)
}

func (t *runtimeTimers) pending() int {
	size := t.size
	for id := range t.armed { // the next replay shares the runtime
		t.cancel(uint32(id))
	}
	return size
}

func main() {
	runtime.GOMAXPROCS(1)
	run(about{Name: "go_runtime_timers", Summary: "AfterFunc, Reset and Stop of package time",
		Precision: "exact", Ordered: true},
		func(capacity int) timers {
			return &runtimeTimers{armed: make([]armed, capacity), overdue: map[uint32]struct{}{}}
		})
}
