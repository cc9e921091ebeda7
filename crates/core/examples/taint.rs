//! Which texts of a set the rules of `taint` flag: `cargo run --release --example taint -- FILE.jsonl…`
//!
//! Each line of a file is an object with `text` (and, if it has one, `id`). Prints the flagged ones, and how long it took.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it reads, measures and prints; the rules do not"
)]

use std::time::Instant;

use cerebro_core::domain::Origin;
use cerebro_core::taint::flags;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut texts, mut bytes, mut flagged, mut foreign) = (0_u32, 0, 0_u32, 0_u32);
    flags("warm", Origin::Agent);
    let mut slowest = (0.0, 0);
    let begun = Instant::now();
    for path in std::env::args().skip(1) {
        for line in std::fs::read_to_string(&path)?.lines() {
            let fact: serde_json::Value = serde_json::from_str(line)?;
            let text = fact["text"].as_str().unwrap_or_default();
            let one = Instant::now();
            let found = flags(text, Origin::Agent);
            let took = one.elapsed().as_secs_f64() * 1_000.0;
            if took > slowest.0 {
                slowest = (took, text.len());
            }
            texts += 1;
            bytes += text.len();
            foreign += u32::from(!flags(text, Origin::Import).is_empty());
            if !found.is_empty() {
                flagged += 1;
                let names: Vec<&str> = found.iter().map(|flag| flag.as_str()).collect();
                println!(
                    "{path} {} {}: {}",
                    fact["id"],
                    names.join(" "),
                    &text[..text.floor_char_boundary(300)]
                );
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64() / 2.0;
    println!(
        "{texts} texts, {bytes} bytes: {flagged} flagged, {foreign} as imports; {seconds:.2} s, slowest {:.2} ms of {} bytes",
        slowest.0, slowest.1
    );
    Ok(())
}
