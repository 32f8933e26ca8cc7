//! tokio-util's DelayQueue: a hierarchical wheel of 6 levels of 64 slots, over a slab.
//!
//! What runs: insert_at(), reset_at(), remove() and poll_expired(), and below them the timer of a
//! tokio runtime of one thread, from which the queue waits for the next slot. advance() enters
//! the runtime, moves its clock, lets it turn, and polls the queue until nothing is due.
//!
//! Clock: the runtime's, which is paused. A tick is a millisecond, which both wheels count in.
//!
//! Deviates: tasks of tokio give way after 128 steps; this one does not, for advance() fires all.
//!
//! Cannot: insert what is more than 2^36 ms after the last slot that was due, of which an empty
//! queue does not see the time pass. So an empty one is replaced after 2^35 ms.
//!
//! Cost: arm and cancel O(1); advance O(1) a timer and level that it came down, and for each fire
//! and each slot an object that waits for the next one; about a microsecond if nothing is due. 80
//! bytes a timer.
//!
//! Follows: tokio_util::time::DelayQueue of tokio-util 0.7.3, with tokio 1.24, of Debian 12;
//! Varghese & Lauck 1987, scheme 7.

mod replay;
use replay::{About, Fires, Timers};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{self, Duration, Instant};
use tokio_util::time::{delay_queue::Key, DelayQueue};

const LONGEST_EMPTY: u64 = 1 << 35;

struct Entry {
    id: u32,
    deadline: u64,
}

/// The next timer that is due. Where there is none, a task would wait; this does not.
struct NextDue<'a>(&'a mut DelayQueue<Entry>);

impl Future for NextDue<'_> {
    type Output = Option<Entry>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Option<Entry>> {
        match self.0.poll_expired(context) {
            Poll::Ready(Some(expired)) => Poll::Ready(Some(expired.into_inner())),
            Poll::Ready(None) | Poll::Pending => Poll::Ready(None),
        }
    }
}

struct Delays<'a> {
    runtime: &'a Runtime,
    begin: Instant,
    queue: DelayQueue<Entry>,
    queue_begin: u64,
    keys: Vec<Option<Key>>,
    now: u64,
}

impl Delays<'_> {
    fn new(capacity: usize, runtime: &Runtime) -> Delays {
        Delays {
            runtime,
            begin: Instant::now(),
            queue: DelayQueue::new(),
            queue_begin: 0,
            keys: vec![None; capacity],
            now: 0,
        }
    }
}

impl Timers for Delays<'_> {
    fn arm(&mut self, id: u32, now: u64, deadline: u64) {
        self.cancel(id);
        if now - self.queue_begin > LONGEST_EMPTY && self.queue.is_empty() {
            self.queue = DelayQueue::new();
            self.queue_begin = now;
        }
        let at = self.begin + Duration::from_millis(deadline);
        self.keys[id as usize] = Some(self.queue.insert_at(Entry { id, deadline }, at));
    }

    fn cancel(&mut self, id: u32) -> bool {
        let key = self.keys[id as usize].take();
        if let Some(key) = &key {
            self.queue.remove(key);
        }
        key.is_some()
    }

    fn advance(&mut self, now: u64, fires: &mut Fires) {
        let Delays {
            runtime,
            queue,
            keys,
            ..
        } = self;
        let passed = Duration::from_millis(now - self.now);
        self.now = now;
        runtime.block_on(tokio::task::unconstrained(async {
            time::advance(passed).await;
            while let Some(Entry { id, deadline }) = NextDue(queue).await {
                keys[id as usize] = None;
                fires.add(now, id, deadline);
            }
        }));
    }

    fn pending(&self) -> usize {
        self.queue.len()
    }
}

fn main() -> std::io::Result<()> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let _context = runtime.enter();
    let about = About {
        name: "tokio_delay_queue",
        summary: "tokio-util's DelayQueue, hierarchical wheel of 64 slots a level",
        precision: "exact",
        ordered: false,
        version: env!("RUST_VERSION"),
    };
    replay::main(about, |capacity| Delays::new(capacity, &runtime))
}
