// A control: the loop over the operations, which calls a structure that does nothing.
//
// What it costs is in the figures of all others of this runtime.

package main

type nothing struct{}

func (nothing) arm(uint32, uint64, uint64) {}
func (nothing) cancel(uint32) bool         { return false }
func (nothing) advance(uint64, *fires)     {}
func (nothing) pending() int               { return 0 }

func main() {
	run(about{Name: "go_null", Summary: "a control: does nothing", Precision: "none"},
		func(int) timers { return nothing{} })
}
