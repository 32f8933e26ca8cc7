//! A control: the loop over the operations, which calls a structure that notes the last deadline.
//!
//! What it costs is in the figures of all others of this language. The compiler must not leave the
//! store out, nor the loop with it; so it is volatile.

#[allow(dead_code)] // it fires nothing
mod replay;
use replay::{About, Fires, Timers};

struct Last(u64);

impl Last {
    fn note(&mut self, deadline: u64) {
        // SAFETY: the reference is valid.
        unsafe { std::ptr::write_volatile(&mut self.0, deadline) };
    }
}

impl Timers for Last {
    fn arm(&mut self, _id: u32, _now: u64, deadline: u64) {
        self.note(deadline);
    }
    fn cancel(&mut self, _id: u32) -> bool {
        self.note(0);
        false
    }
    fn advance(&mut self, now: u64, _fires: &mut Fires) {
        self.note(now);
    }
    fn pending(&self) -> usize {
        0
    }
}

fn main() -> std::io::Result<()> {
    let about = About {
        name: "rust_null",
        summary: "a control: notes the last deadline",
        precision: "none",
        ordered: false,
        version: env!("RUST_VERSION"),
    };
    replay::main(about, |_| Last(0))
}
