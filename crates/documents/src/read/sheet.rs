//! Sheets of Excel.

use std::io::Cursor;

use calamine::{Data, DataRef, ExcelDateTime, Reader, Xlsx};

use super::{archive::Archive, table::Rows};
use crate::{DocumentError, section::Outline};

/// Most columns of a row that are read.
const COLUMNS_MAX: usize = 256;

/// The rows of each sheet. Read cell by cell: the library's own table allocates
/// every cell that a file claims to have.
pub(super) fn xlsx(bytes: &[u8], outline: &mut Outline) -> Result<(), DocumentError> {
    Archive::open(bytes)?.prove()?;
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(DocumentError::malformed)?;
    for (number, name) in (1..).zip(book.sheet_names()) {
        outline.heading(2, &name);
        // A sheet that is only a chart has no cells.
        let Ok(mut cells) = book.worksheet_cells_reader(&name) else { continue };
        let (mut rows, mut line, mut values) = (Rows::default(), 0, Vec::<String>::new());
        while let Some(cell) = cells.next_cell().map_err(DocumentError::malformed)? {
            let ((at, column), value) = (cell.get_position(), shown(cell.get_value()));
            if at != line {
                line = at;
                rows.add(values.iter().map(String::as_str));
                values.clear();
            }
            if rows.is_full() {
                break;
            }
            let column = column as usize;
            if column < COLUMNS_MAX && !value.is_empty() {
                values.resize(values.len().max(column), String::new());
                if column == values.len() {
                    values.push(value);
                }
            }
        }
        rows.add(values.iter().map(String::as_str));
        outline.text(&rows.text, Some(number));
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
