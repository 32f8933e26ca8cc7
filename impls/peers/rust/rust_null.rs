//! A control: the loop over the operations, which calls a structure that does nothing.
//!
//! What it costs is in the figures of all others of this language.

#[allow(dead_code)] // it fires nothing
mod replay;
use replay::{About, Fires, Timers};

struct Nothing;

impl Timers for Nothing {
    fn arm(&mut self, _id: u32, _now: u64, _deadline: u64) {}
    fn cancel(&mut self, _id: u32) -> bool {
        false
    }
    fn advance(&mut self, _now: u64, _fires: &mut Fires) {}
    fn pending(&self) -> usize {
        0
    }
}

fn main() -> std::io::Result<()> {
    let about = About {
        name: "rust_null",
        summary: "a control: does nothing",
        precision: "none",
        ordered: false,
        version: env!("RUST_VERSION"),
    };
    replay::main(about, |_| Nothing)
}
