//! The report: measured values with their references and targets.

use serde_json::{Value, json};

/// How a row is judged.
pub enum Target {
    /// The measured value is at most this.
    AtMost(f64),
    /// Shown for comparison only.
    None,
}

/// One measured value.
pub struct Row {
    pub name: &'static str,
    /// The number of memories, updates or events that the server held.
    pub size: usize,
    pub measured: f64,
    pub unit: &'static str,
    /// What it is compared with, measured in the same minute, in the same unit.
    pub reference: Option<(&'static str, f64)>,
    pub target: Target,
}

impl Row {
    /// A row without a reference.
    pub fn new(name: &'static str, size: usize, measured: f64, unit: &'static str, target: Target) -> Self {
        Self { name, size, measured, unit, reference: None, target }
    }

    fn verdict(&self) -> &'static str {
        match self.target {
            Target::AtMost(bound) if self.measured <= bound => "met",
            Target::AtMost(_) => "missed",
            Target::None => "",
        }
    }

    /// The row as Markdown.
    pub fn markdown(&self) -> String {
        let unit = self.unit;
        let (reference, ratio) = match self.reference {
            Some((name, value)) => {
                (format!("{} {unit} ({name})", digits(value)), format!("{:.2}", self.measured / value))
            }
            None => (String::new(), String::new()),
        };
        let target = match self.target {
            Target::AtMost(bound) => format!("≤ {} {unit}", digits(bound)),
            Target::None => String::new(),
        };
        format!(
            "| {} | {} | {} {unit} | {reference} | {ratio} | {target} | {} |",
            self.name,
            self.size,
            digits(self.measured),
            self.verdict()
        )
    }

    /// The row for scripts.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "size": self.size,
            "measured": self.measured,
            "unit": self.unit,
            "reference": self.reference.map(|(name, value)| json!({ "name": name, "value": value })),
            "target_max": match self.target { Target::AtMost(bound) => Some(bound), Target::None => None },
            "verdict": self.verdict(),
        })
    }
}

/// The rows of one run. Each is printed as soon as it is measured, too.
#[derive(Default)]
pub struct Report {
    size: usize,
    pub rows: Vec<Row>,
}

impl Report {
    /// Sets the number of memories, updates or events of the next rows.
    pub fn at(&mut self, size: usize) -> &mut Self {
        self.size = size;
        self
    }

    /// Adds a row.
    pub fn add(
        &mut self,
        name: &'static str,
        measured: f64,
        unit: &'static str,
        reference: Option<(&'static str, f64)>,
        target: Target,
    ) {
        let row = Row { reference, ..Row::new(name, self.size, measured, unit, target) };
        eprintln!("{}", row.markdown());
        self.rows.push(row);
    }
}

/// About three significant digits, whatever the size.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Prints the whole table. `sizes` is what the sizes count, such as `memories`.
pub fn print(rows: &[Row], sizes: &str) {
    println!("| what | {sizes} | measured | reference | ratio | target | |");
    println!("|---|---:|---:|---:|---:|---:|---|");
    for row in rows {
        println!("{}", row.markdown());
    }
}
