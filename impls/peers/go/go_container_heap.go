// Go's container/heap, whose elements know their index: the example of its documentation.
//
// What runs: heap.Push, heap.Pop, heap.Fix and heap.Remove of the standard library, a binary heap
// over an interface that compares and swaps.
//
// Clock: deadlines are numbers, and the first is compared with the clock.
//
// Cost: arm and cancel O(log n), an object for each timer that was not pending; each comparison
// and each swap is a call through the interface. 40 bytes a timer.
//
// Follows: container/heap of Go 1.19; PriorityQueue of its examples.

package main

import "container/heap"

type timer struct {
	deadline uint64
	id       uint32
	index    int // in the heap
}

type byDeadline []*timer

func (h byDeadline) Len() int           { return len(h) }
func (h byDeadline) Less(i, j int) bool { return h[i].deadline < h[j].deadline }

func (h byDeadline) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index = i
	h[j].index = j
}

func (h *byDeadline) Push(one any) {
	added := one.(*timer)
	added.index = len(*h)
	*h = append(*h, added)
}

func (h *byDeadline) Pop() any {
	last := len(*h) - 1
	removed := (*h)[last]
	(*h)[last] = nil // the heap does not keep it alive
	*h = (*h)[:last]
	return removed
}

type containerHeap struct {
	heap    byDeadline
	handles []*timer
}

func (t *containerHeap) arm(id uint32, now, deadline uint64) {
	if pending := t.handles[id]; pending != nil {
		pending.deadline = deadline
		heap.Fix(&t.heap, pending.index)
		return
	}
	t.handles[id] = &timer{deadline: deadline, id: id}
	heap.Push(&t.heap, t.handles[id])
}

func (t *containerHeap) cancel(id uint32) bool {
	pending := t.handles[id]
	if pending == nil {
		return false
	}
	heap.Remove(&t.heap, pending.index)
	t.handles[id] = nil
	return true
}

func (t *containerHeap) advance(now uint64, fires *fires) {
	for len(t.heap) > 0 && t.heap[0].deadline <= now {
		first := heap.Pop(&t.heap).(*timer)
		t.handles[first.id] = nil
		fires.add(now, first.id, first.deadline)
	}
}

func (t *containerHeap) pending() int { return len(t.heap) }

func main() {
	run(about{Name: "go_container_heap", Summary: "container/heap of elements that know their index",
		Precision: "exact", Ordered: true},
		func(capacity int) timers { return &containerHeap{handles: make([]*timer, capacity)} })
}
