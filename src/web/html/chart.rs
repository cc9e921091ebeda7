//! A bar chart over time, as rectangles of an SVG picture.

/// The picture's size, in its own units.
pub const WIDTH: f64 = 720.0;
/// The height of the bars, without the words below them.
pub const HEIGHT: f64 = 120.0;
/// The share of a column's width that stays free next to its bar.
const GAP: f64 = 0.25;

/// One column to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its label, such as a day.
    pub name: String,
    /// Its parts from the bottom. Every column has the same number of parts.
    pub parts: Vec<u64>,
}

/// A rectangle. The numbers are texts, to a tenth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    pub x: String,
    pub y: String,
    pub width: String,
    pub height: String,
    /// The index of its part in the column.
    pub part: usize,
    pub title: String,
}

/// The bars of all columns that have any height.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    pub bars: Vec<Bar>,
    /// The height of the highest column.
    pub most: u64,
    pub sum: u64,
    pub first: String,
    pub last: String,
}

impl Chart {
    /// Draws columns from left to right; the highest fills the height. `said` describes a part of a column.
    pub fn of(columns: &[Column], said: impl Fn(&Column, usize) -> String) -> Self {
        let height = |column: &Column| column.parts.iter().sum::<u64>();
        let most = columns.iter().map(height).max().unwrap_or(0);
        let mut chart = Self {
            most,
            sum: columns.iter().map(height).sum(),
            first: columns.first().map(|column| column.name.clone()).unwrap_or_default(),
            last: columns.last().map(|column| column.name.clone()).unwrap_or_default(),
            bars: Vec::new(),
        };
        if most == 0 {
            return chart;
        }
        let step = WIDTH / columns.len() as f64;
        for (n, column) in columns.iter().enumerate() {
            let mut below = 0.0;
            for (part, count) in column.parts.iter().enumerate().filter(|(_, count)| **count > 0) {
                // Small values stay visible.
                let high = (HEIGHT * *count as f64 / most as f64).max(2.0);
                chart.bars.push(Bar {
                    x: tenths(step * (n as f64 + GAP / 2.0)),
                    y: tenths((HEIGHT - below - high).max(0.0)),
                    width: tenths(step * (1.0 - GAP)),
                    height: tenths(high),
                    part,
                    title: said(column, part),
                });
                below += high;
            }
        }
        chart
    }
}

/// A number to a tenth, without `.0`.
pub fn tenths(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(counts: &[(u64, u64)]) -> Vec<Column> {
        counts.iter().map(|(a, b)| Column { name: format!("{a}/{b}"), parts: vec![*a, *b] }).collect()
    }

    #[test]
    fn the_highest_column_fills_the_picture_and_parts_stand_on_each_other() {
        let chart = Chart::of(&columns(&[(0, 0), (1, 3), (2, 0)]), |column, part| {
            format!("{} part {part}", column.name)
        });
        assert_eq!((chart.most, chart.sum, chart.bars.len()), (4, 6, 3));
        let at = |n: usize| {
            let bar: &Bar = &chart.bars[n];
            (bar.x.as_str(), bar.y.as_str(), bar.height.as_str(), bar.part)
        };
        assert_eq!(at(0), ("270", "90", "30", 0));
        assert_eq!(at(1), ("270", "0", "90", 1));
        assert_eq!(at(2), ("510", "60", "60", 0));
        assert_eq!((chart.bars[0].width.as_str(), chart.bars[1].title.as_str()), ("180", "1/3 part 1"));
        assert_eq!((chart.first.as_str(), chart.last.as_str()), ("0/0", "2/0"));
    }

    #[test]
    fn nothing_is_no_bars() {
        for nothing in [columns(&[]), columns(&[(0, 0)])] {
            let chart = Chart::of(&nothing, |_, _| String::new());
            assert!(chart.bars.is_empty() && chart.most == 0);
        }
    }

    #[test]
    fn one_of_very_many_is_seen() {
        let chart = Chart::of(&columns(&[(1, 0), (1_000_000, 0)]), |_, _| String::new());
        assert_eq!(chart.bars[0].height, "2");
    }
}
