//! Sheets of Excel.

use std::io::Cursor;

use calamine::{Data, DataRef, ExcelDateTime, Reader, Xlsx};

use super::{archive::Archive, table};
use crate::{DocumentError, limits::TEXT_BYTES_MAX, section::Outline};

/// Most columns of a row that are read.
const COLUMNS_MAX: u32 = 256;

/// The rows of each sheet, under the names in its first row. Read cell by cell: the library's own table allocates
/// every cell that a file claims to have.
pub(super) fn xlsx(bytes: &[u8], outline: &mut Outline) -> Result<(), DocumentError> {
    Archive::open(bytes)?.prove()?;
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(DocumentError::malformed)?;
    for (number, name) in (1..).zip(book.sheet_names()) {
        outline.heading(2, &name);
        // A sheet that is only a chart has no cells.
        let Ok(mut cells) = book.worksheet_cells_reader(&name) else { continue };
        let mut rows = Rows::default();
        while let Some(cell) = cells.next_cell().map_err(DocumentError::malformed)? {
            let ((line, column), value) = (cell.get_position(), shown(cell.get_value()));
            rows.add(line, column, value);
            if rows.is_full() {
                break;
            }
        }
        outline.text(&rows.finish(), Some(number));
        if outline.is_full() {
            break;
        }
    }
    Ok(())
}

/// The displayed text of a cell.
fn shown(value: &DataRef<'_>) -> String {
    match value {
        DataRef::String(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::DateTime(moment) => shown_moment(moment),
        value => Data::from(value.clone()).to_string(),
    }
}

/// A date, time or duration in ISO's form. The sheet stores it as a number of days, which nobody would look for.
fn shown_moment(moment: &ExcelDateTime) -> String {
    const SECONDS_OF_DAY: f64 = 86_400.0;
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let days = moment.as_f64();
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    if moment.is_duration() {
        return format!("{:.0} s", days * SECONDS_OF_DAY);
    }
    if (0.0..1.0).contains(&days) {
        return time;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    if time == "00:00:00" { date } else { format!("{date} {time}") }
}

/// Collects the rows of a sheet as its cells arrive.
#[derive(Default)]
struct Rows {
    names: Option<Vec<String>>,
    line: u32,
    values: Vec<String>,
    text: String,
}

impl Rows {
    fn add(&mut self, line: u32, column: u32, value: String) {
        if line != self.line {
            self.end_row();
            self.line = line;
        }
        if column >= COLUMNS_MAX || value.is_empty() {
            return;
        }
        let column = column as usize;
        self.values.resize(self.values.len().max(column), String::new());
        if column == self.values.len() {
            self.values.push(value);
        }
    }

    fn end_row(&mut self) {
        let values = std::mem::take(&mut self.values);
        if values.is_empty() {
            return;
        }
        let names = self.names.get_or_insert_with(Vec::new);
        if names.is_empty() && self.text.is_empty() {
            self.text = table::row(&[], values.iter().map(String::as_str));
            *names = values;
        } else {
            self.text.push('\n');
            self.text.push_str(&table::row(names, values.iter().map(String::as_str)));
        }
    }

    /// Whether no more text is kept; the outline cuts what is beyond the bound, and says so.
    fn is_full(&self) -> bool {
        self.text.len() > TEXT_BYTES_MAX
    }

    fn finish(mut self) -> String {
        self.end_row();
        self.text
    }
}
