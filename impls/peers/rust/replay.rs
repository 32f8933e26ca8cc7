//! The protocol of docs/processes.md, for any structure of timers.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

const ADVANCE: u32 = u32::MAX; // an id
const CANCEL: u32 = u32::MAX; // an argument

/// Timers named by ids, in virtual time.
pub trait Timers {
    /// Arms the timer, or moves it if it is pending.
    fn arm(&mut self, id: u32, now: u64, deadline: u64);
    /// Returns true if this prevented a fire.
    fn cancel(&mut self, id: u32) -> bool;
    /// Moves the clock, and fires all that is due.
    fn advance(&mut self, now: u64, fires: &mut Fires);
    /// Returns how many timers are pending. It is asked once, at the end of a replay.
    fn pending(&self) -> usize;
}

/// What `describe` tells.
pub struct About {
    pub name: &'static str,
    pub summary: &'static str,
    pub precision: &'static str,
    pub ordered: bool,
    pub version: &'static str,
}

/// Counts the fires of a replay, and writes them if it has a writer.
pub struct Fires {
    count: u64,
    writer: Option<BufWriter<File>>,
}

impl Fires {
    #[inline]
    pub fn add(&mut self, now: u64, id: u32, deadline: u64) {
        self.count += 1;
        if let Some(writer) = &mut self.writer {
            writeln!(writer, "{now},{id},{deadline}").expect("its fires can be written");
        }
    }
}

/// A trace as docs/recording.md defines it.
struct Trace {
    ops: Vec<[u32; 2]>, // an id and an argument
    setup: usize,
    capacity: usize,
}

impl Trace {
    fn load(name: &str) -> io::Result<Trace> {
        let info = fs::read_to_string(format!("{name}.json"))?;
        let file = fs::read(format!("{name}.npy"))?;
        let header = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        let ops = file[header..].chunks_exact(8);
        Ok(Trace {
            ops: ops.map(|op| [word(&op[..4]), word(&op[4..])]).collect(),
            setup: member(&info, "setup_ops"),
            capacity: member(&info, "capacity"),
        })
    }
}

/// Returns a number of a JSON object.
fn member(json: &str, name: &str) -> usize {
    let (_, rest) = json
        .split_once(&format!("\"{name}\""))
        .unwrap_or_else(|| panic!("the description of the trace has no {name}"));
    let digits = rest.trim_start_matches(|c: char| c == ':' || c.is_whitespace());
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().unwrap()
}

/// Replays with new timers, and prints the line that tells of it.
fn replay<T: Timers>(trace: &Trace, mut timers: T, fires: &mut Fires) {
    let mut now = 0;
    let mut cancelled = 0;
    let mut play = |ops: &[[u32; 2]]| {
        for &[id, argument] in ops {
            if id == ADVANCE {
                now += u64::from(argument);
                timers.advance(now, fires);
            } else if argument != CANCEL {
                timers.arm(id, now, now + u64::from(argument));
            } else if timers.cancel(id) {
                cancelled += 1;
            }
        }
    };
    let (setup, measured) = trace.ops.split_at(trace.setup);
    play(setup);
    let begin = Instant::now();
    play(measured);
    let elapsed = begin.elapsed().as_nanos();
    println!(
        "{{\"elapsed_ns\": {elapsed}, \"fired\": {}, \"cancelled\": {cancelled}, \"pending\": {}}}",
        fires.count,
        timers.pending()
    );
}

/// Does what the command line asks for. `make` makes timers of ids below the capacity.
pub fn main<T: Timers>(about: About, make: impl Fn(usize) -> T) -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words[0] == "describe" {
        println!(
            "{{\"name\": \"{}\", \"summary\": \"{}\", \"precision\": \"{}\", \"ordered\": {}, \
             \"version\": \"{}\"}}",
            about.name, about.summary, about.precision, about.ordered, about.version
        );
        return Ok(());
    }
    let mut traces = Vec::new();
    let mut seconds = 0.0;
    let mut file = None;
    for word in &words[1..] {
        match word.split_once('=') {
            Some(("--granularity", _)) => {}
            Some(("--seconds", value)) => seconds = value.parse().expect("a number of seconds"),
            Some(("--fires", value)) => file = Some(value),
            _ => traces.push(Trace::load(word)?),
        }
    }
    if let Some(file) = file {
        let mut writer = BufWriter::new(File::create(file)?);
        writeln!(writer, "now,id,deadline")?;
        let mut fires = Fires {
            count: 0,
            writer: Some(writer),
        };
        replay(&traces[0], make(traces[0].capacity), &mut fires);
        return fires.writer.unwrap().flush();
    }
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    for (i, trace) in traces.iter().cycle().enumerate() {
        if i >= traces.len().max(3) && Instant::now() >= end {
            break;
        }
        replay(
            trace,
            make(trace.capacity),
            &mut Fires {
                count: 0,
                writer: None,
            },
        );
    }
    Ok(())
}
