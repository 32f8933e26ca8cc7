// The timers of Go's runtime, which ../go_timers.h drives.
//
// What is set tells its id when it may be due. Whether it is, the caller decides, so a timer that
// fires although its id was stopped since does no harm.

package main

// #include <stdint.h>
//
// typedef void (*teller)(void* service, uint32_t id);
// static void call_teller(teller tell, void* service, uint32_t id) { tell(service, id); }
//
// typedef void (*worker)(void* argument);
// static void call_worker(worker work, void* argument) { work(argument); }
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

type timers struct {
	tell    C.teller
	service unsafe.Pointer
	timers  []*time.Timer // by id; nil: it was never set
	turns   chan struct{} // of those that are due and tell so; nil: all at once

	mutex  sync.RWMutex // of a service that is told
	closed bool
}

// All that are not closed. A number stands for one, since C must not hold a pointer of Go.
var all [1024]atomic.Pointer[timers]

// TimersMake returns the number of new timers, or -1 if there are too many. As many as `turns` tell at
// a time that they may be due; 0: all at once.
//
//export TimersMake
func TimersMake(processors, turns C.int, capacity C.uint32_t, tell C.teller,
	service unsafe.Pointer) C.int {
	runtime.GOMAXPROCS(int(processors))
	made := &timers{tell: tell, service: service, timers: make([]*time.Timer, capacity)}
	if turns > 0 {
		made.turns = make(chan struct{}, turns)
	}
	for i := range all {
		if all[i].CompareAndSwap(nil, made) {
			return C.int(i)
		}
	}
	return -1
}

// TimersSet tells the id after the delay, in ns; no more after the one before.
//
//export TimersSet
func TimersSet(number C.int, id C.uint32_t, delay C.int64_t) {
	t := all[number].Load()
	if timer := t.timers[id]; timer != nil {
		timer.Reset(time.Duration(delay))
	} else {
		t.timers[id] = time.AfterFunc(time.Duration(delay), func() { t.mayBeDue(id) })
	}
}

//export TimersStop
func TimersStop(number C.int, id C.uint32_t) {
	if timer := all[number].Load().timers[id]; timer != nil {
		timer.Stop()
	}
}

// TimersClose returns when the service is told nothing more.
//
//export TimersClose
func TimersClose(number C.int) {
	t := all[number].Swap(nil)
	for _, timer := range t.timers {
		if timer != nil {
			timer.Stop()
		}
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.closed = true
}

// Runs in the goroutine that the runtime starts for a fire.
func (t *timers) mayBeDue(id C.uint32_t) {
	if t.turns != nil {
		t.turns <- struct{}{}
		defer func() { <-t.turns }()
	}
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	if !t.closed {
		C.call_teller(t.tell, t.service, id)
	}
}

// CallersRun does the work in a thread of Go, whose calls of the above take a tenth of the time.
//
//export CallersRun
func CallersRun(work C.worker, argument unsafe.Pointer) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.call_worker(work, argument)
		close(done)
	}()
	<-done
}

func main() {}
