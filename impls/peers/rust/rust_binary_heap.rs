//! Rust's BinaryHeap with lazy deletion: one that cancels in place is not in the standard
//! library.
//!
//! What runs: std::collections::BinaryHeap of the deadline, the id and the number of the arming.
//! An entry whose number is not the last of its id is dead, and stays until it surfaces. When
//! more than half are dead they are removed, and the heap is built anew.
//!
//! Clock: deadlines are numbers, and the first is compared with the clock.
//!
//! Cannot: remove a timer, whose entry stays until then.
//!
//! Cost: arm O(log n), no allocation but the growth of the heap; cancel O(1), with its share of
//! the heaps that are built anew; advance O(log n) a timer, dead ones too. 20 to 36 bytes a
//! timer.
//!
//! Follows: std::collections::BinaryHeap of Rust 1.63.

mod replay;
use replay::{About, Fires, Timers};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const LEAST_TO_PURGE: usize = 100;

struct LazyHeap {
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>, // deadline, id, number
    numbers: Vec<u32>,                          // of the last arming; odd: it is pending
    dead: usize,                                // in the heap
}

impl LazyHeap {
    fn new(capacity: usize) -> LazyHeap {
        LazyHeap {
            heap: BinaryHeap::new(),
            numbers: vec![0; capacity],
            dead: 0,
        }
    }
}

impl Timers for LazyHeap {
    fn arm(&mut self, id: u32, _now: u64, deadline: u64) {
        self.cancel(id);
        let number = &mut self.numbers[id as usize];
        *number = number.wrapping_add(1);
        self.heap.push(Reverse((deadline, id, *number)));
    }

    fn cancel(&mut self, id: u32) -> bool {
        let number = &mut self.numbers[id as usize];
        if *number % 2 == 0 {
            return false;
        }
        *number = number.wrapping_add(1);
        self.dead += 1;
        if self.dead * 2 > self.heap.len() && self.heap.len() >= LEAST_TO_PURGE {
            let numbers = &self.numbers;
            let mut entries = std::mem::take(&mut self.heap).into_vec();
            entries.retain(|Reverse((_, id, number))| numbers[*id as usize] == *number);
            self.heap = BinaryHeap::from(entries);
            self.dead = 0;
        }
        true
    }

    fn advance(&mut self, now: u64, fires: &mut Fires) {
        while let Some(&Reverse((deadline, id, number))) = self.heap.peek() {
            if deadline > now {
                break;
            }
            self.heap.pop();
            if self.numbers[id as usize] == number {
                self.numbers[id as usize] = number.wrapping_add(1);
                fires.add(now, id, deadline);
            } else {
                self.dead -= 1;
            }
        }
    }

    fn pending(&self) -> usize {
        self.heap.len() - self.dead
    }
}

fn main() -> std::io::Result<()> {
    let about = About {
        name: "rust_binary_heap",
        summary: "BinaryHeap with lazy deletion",
        precision: "exact",
        ordered: true,
        version: env!("RUST_VERSION"),
    };
    replay::main(about, LazyHeap::new)
}
