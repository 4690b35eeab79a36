//! Rows as CSV and as JSON lines.

use super::ExportError;
use super::rows::{Number, Row, rows};
use crate::recording::Reader;
use crate::units::Nanos;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Columns of the CSV form.
const COLUMNS: [&str; 8] = ["time_s", "metric", "value", "unit", "source", "window_s", "labels", "note"];

/// CSV (RFC 4180) with a heading. Times are seconds since the session's start; labels are `name=value`, divided by `;`.
pub fn csv(reader: &mut Reader, out: impl Write) -> Result<(), ExportError> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS).map_err(io)?;
    while let Some(event) = reader.next_event()? {
        for row in rows(&event) {
            let labels: Vec<String> = row.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let record = [
                seconds(Nanos(row.at.0)),
                row.metric.to_owned(),
                number(row.value),
                row.unit.to_owned(),
                row.source.clone(),
                row.window.map(seconds).unwrap_or_default(),
                labels.join(";"),
                row.note.clone(),
            ];
            table.write_record(record).map_err(io)?;
        }
    }
    table.flush()?;
    Ok(())
}

/// One JSON object a line, with the same fields as the CSV form; what is absent is null.
pub fn json_lines(reader: &mut Reader, mut out: impl Write) -> Result<(), ExportError> {
    while let Some(event) = reader.next_event()? {
        for row in rows(&event) {
            writeln!(out, "{}", object(&row))?;
        }
    }
    out.flush()?;
    Ok(())
}

fn object(row: &Row) -> Value {
    let value = match row.value {
        Number::Count(n) => json!(n),
        Number::Real(x) => json!(x),
        Number::Absent => Value::Null,
    };
    let labels: Map<String, Value> = row.labels.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    json!({
        "time_ns": row.at.0,
        "metric": row.metric,
        "value": value,
        "unit": row.unit,
        "source": row.source,
        "window_ns": row.window.map(|w| w.0),
        "labels": labels,
        "note": (!row.note.is_empty()).then_some(&row.note),
    })
}

/// To the nanosecond.
fn seconds(time: Nanos) -> String {
    format!("{}.{:09}", time.0 / 1_000_000_000, time.0 % 1_000_000_000)
}

/// Empty if there is none: never 0.
fn number(value: Number) -> String {
    match value {
        Number::Count(n) => n.to_string(),
        Number::Real(x) => x.to_string(),
        Number::Absent => String::new(),
    }
}

fn io(error: csv::Error) -> ExportError {
    ExportError::Write(match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}
