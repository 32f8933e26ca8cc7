// The protocol of docs/processes.md, for any structure of timers.

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const (
	advance = 1<<32 - 1 // an id
	cancel  = 1<<32 - 1 // an argument
)

// Timers named by ids, in virtual time.
type timers interface {
	// Arms the timer, or moves it if it is pending.
	arm(id uint32, now, deadline uint64)
	// Returns true if this prevented a fire.
	cancel(id uint32) bool
	// Moves the clock, and fires all that is due.
	advance(now uint64, fires *fires)
	// Returns how many timers are pending. It is asked once, at the end of a replay.
	pending() int
}

// What `describe` tells.
type about struct {
	Name      string `json:"name"`
	Summary   string `json:"summary"`
	Precision string `json:"precision"`
	Ordered   bool   `json:"ordered"`
	Version   string `json:"version"`
}

// Counts the fires of a replay, and writes them if it has a writer.
type fires struct {
	count  uint64
	writer *bufio.Writer
}

func (f *fires) add(now uint64, id uint32, deadline uint64) {
	f.count++
	if f.writer != nil {
		fmt.Fprintf(f.writer, "%d,%d,%d\n", now, id, deadline)
	}
}

// A trace as docs/recording.md defines it.
type trace struct {
	ops   [][2]uint32 // an id and an argument
	about struct {
		Setup    int `json:"setup_ops"`
		Capacity int `json:"capacity"`
	}
}

func load(name string) trace {
	var t trace
	check(json.Unmarshal(read(name+".json"), &t.about))
	file := read(name + ".npy")
	file = file[10+binary.LittleEndian.Uint16(file[8:]):] // after the header
	t.ops = make([][2]uint32, len(file)/8)
	for i := range t.ops {
		t.ops[i][0] = binary.LittleEndian.Uint32(file[8*i:])
		t.ops[i][1] = binary.LittleEndian.Uint32(file[8*i+4:])
	}
	return t
}

// Replays with new timers, and returns the line that tells of it.
func replay(t trace, timers timers, fires *fires) string {
	var now, begin, cancelled uint64
	for i, op := range t.ops {
		if i == t.about.Setup {
			begin = nanoseconds()
		}
		id, argument := op[0], op[1]
		if id == advance {
			now += uint64(argument)
			timers.advance(now, fires)
		} else if argument != cancel {
			timers.arm(id, now, now+uint64(argument))
		} else if timers.cancel(id) {
			cancelled++
		}
	}
	elapsed := nanoseconds() - begin
	if begin == 0 {
		elapsed = 0
	}
	return fmt.Sprintf("{\"elapsed_ns\": %d, \"fired\": %d, \"cancelled\": %d, \"pending\": %d}\n",
		elapsed, fires.count, cancelled, timers.pending())
}

// Does what the command line asks for. `make` makes timers of ids below the capacity.
func run(about about, make func(capacity int) timers) {
	// Not os.Stdout: the fake time of go_runtime_timers would put its own header before each line.
	descriptor, err := syscall.Dup(1)
	check(err)
	out := os.NewFile(uintptr(descriptor), "output")
	if os.Args[1] == "describe" {
		about.Version = runtime.Version() + " (golang-go)"
		text, err := json.Marshal(about)
		check(err)
		fmt.Fprintln(out, string(text))
		return
	}
	var traces []trace
	var seconds float64
	for _, word := range os.Args[2:] {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "--granularity":
		case "--seconds":
			seconds, err = strconv.ParseFloat(value, 64)
			check(err)
		case "--fires":
			file, err := os.Create(value)
			check(err)
			writer := bufio.NewWriter(file)
			writer.WriteString("now,id,deadline\n")
			fmt.Fprint(out, replay(traces[0], make(traces[0].about.Capacity), &fires{writer: writer}))
			check(writer.Flush())
			return
		default:
			traces = append(traces, load(word))
		}
	}
	end := nanoseconds() + uint64(seconds*1e9)
	for i := 0; i < 3 || i < len(traces) || nanoseconds() < end; i++ {
		t := traces[i%len(traces)]
		fmt.Fprint(out, replay(t, make(t.about.Capacity), &fires{}))
	}
}

// The monotonic clock of the system: not that of package time, which may be fake.
func nanoseconds() uint64 {
	var time syscall.Timespec
	const monotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&time)), 0)
	return uint64(time.Nano())
}

func read(name string) []byte {
	bytes, err := os.ReadFile(name)
	check(err)
	return bytes
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
