//! One row as it stands: SQLite's columns hold whatever was put in.

use rusqlite::types::ValueRef;

use crate::json::Json;
use crate::runs::data::{MAX_RUN_DATA, no_json, too_large};
use crate::runs::model::{RunData, RunRow};

/// The columns of one run, in the order that [`run_row`] reads them.
pub(super) const COLUMNS: &str = "run_id, session_id, agent_id, user_id, run_type, status, run_index, \
                       created_at, updated_at, run_data";

pub(super) trait FromColumn: Sized {
    fn from_column(value: ValueRef<'_>) -> Option<Self>;
}

impl FromColumn for String {
    fn from_column(value: ValueRef<'_>) -> Option<Self> {
        text(value)
    }
}

impl FromColumn for i64 {
    fn from_column(value: ValueRef<'_>) -> Option<Self> {
        integer(value)
    }
}

/// Any value as text: SQLite's columns hold whatever was put in.
pub(super) fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(format!("{number:?}")),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

pub(super) fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// A JSON column as Agno reads it: text or bytes of JSON, and JSON once more when that is text.
pub(super) fn data(value: ValueRef<'_>) -> RunData {
    let bytes = match value {
        ValueRef::Null => return RunData::Value(Json::Null),
        ValueRef::Integer(number) => return RunData::Value(Json::Int(number.to_string())),
        ValueRef::Real(number) => return RunData::Value(Json::Float(number)),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
    };
    // Bytes may be UTF-16 or begin with a mark; text may not.
    let parsed = || match value {
        ValueRef::Text(_) => match std::str::from_utf8(bytes) {
            Ok(text) => Json::parse(text),
            Err(_) => Json::parse_bytes(bytes),
        },
        _ => Json::parse_bytes(bytes),
    };
    if bytes.len() > MAX_RUN_DATA {
        return too_large(bytes.len() as u64);
    }
    let decoded = parsed().and_then(|value| match value {
        Json::Text(text) => Json::parse(&text),
        value => Ok(value),
    });
    match decoded {
        Ok(value) => RunData::Value(value),
        Err(error) => no_json(&error),
    }
}

pub(super) fn run_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        run_id: text(row.get_ref(0)?).unwrap_or_default(),
        session_id: text(row.get_ref(1)?).unwrap_or_default(),
        agent_id: text(row.get_ref(2)?),
        user_id: text(row.get_ref(3)?),
        run_type: text(row.get_ref(4)?),
        status: text(row.get_ref(5)?),
        run_index: integer(row.get_ref(6)?),
        created_at: integer(row.get_ref(7)?),
        updated_at: integer(row.get_ref(8)?),
        data: data(row.get_ref(9)?),
    })
}
