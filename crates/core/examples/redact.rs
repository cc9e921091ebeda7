//! What redaction makes of texts: `cargo run --release --example redact <TEXTS.jsonl`
//!
//! Each line of the input is a JSON string; each line of the output is that string, redacted.
#![expect(clippy::print_stdout, reason = "it reads and prints; redaction does not")]

use std::io::BufRead as _;

use cerebro_core::redact::redact;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        println!("{}", serde_json::to_string(&redact(&text).text)?);
    }
    Ok(())
}
