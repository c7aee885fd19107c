//! One row of the runs table, whole or as a list keeps it.
//!
//! A list asks the database for what `RunRow::listed` keeps, made there and bounded there; a row whose
//! odd values are larger than that is shown as too large, since a list holds many of them.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Read;
use super::value::column;
use crate::error::Result;
use crate::json::Json;
use crate::runs::data::{MAX_RUN_DATA, no_json, too_large};
use crate::runs::listed::INPUT;
use crate::runs::model::{RunData, RunRow};
use crate::text::human_bytes;

/// Bytes of what a list keeps of a row that come with all the others.
const KEPT: usize = 64 << 10;
/// Characters of a text that a list shows.
const TEXT: usize = INPUT;
/// Bytes of `run_data` that are texts of more than [`KEPT`], in one list: such a row is read whole or
/// not at all.
const TEXTS: u64 = MAX_RUN_DATA as u64;
/// Rows that are asked for at once.
const AT_ONCE: usize = 500;

/// The columns of one run, of the table `r`.
const COLUMNS: &str = "r.run_id::text, r.session_id::text, r.agent_id::text, r.user_id::text, \
                       r.run_type::text, r.status::text, r.run_index::bigint, \
                       r.created_at::bigint, r.updated_at::bigint";
/// How many those are.
const DATA: usize = 9;

/// SQL for `value`, which is no object, with nothing left but what it is and whether it is empty.
fn shape(value: &str) -> String {
    format!(
        "CASE jsonb_typeof({value}) \
         WHEN 'array' THEN CASE WHEN jsonb_array_length({value}) = 0 THEN '[]' ELSE '[null]' END::jsonb \
         WHEN 'string' THEN CASE WHEN {value} = '\"\"' THEN '\"\"' ELSE '\"…\"' END::jsonb \
         ELSE {value} END"
    )
}

/// SQL for `value`, a text of it cut.
fn cut(value: &str) -> String {
    format!(
        "CASE jsonb_typeof({value}) WHEN 'string' THEN to_jsonb(left({value} #>> '{{}}', {TEXT})) \
         ELSE {value} END"
    )
}

/// SQL for the parts of `run_data` that a list keeps, as `l.kept`; null where they are too large, and
/// then `d.kind` is not. `run_data` is unpacked once for what it is and once for its fields.
fn kept() -> String {
    let (data, metadata, sandbox) = ("r.run_data::jsonb", "x.metadata", "(x.metadata->'sandbox')");
    let checkpoint = "(x.metadata->'sandbox'->'checkpoint')";
    let checkpoint = format!(
        "CASE jsonb_typeof({checkpoint}) WHEN 'object' THEN {checkpoint} ELSE {} END",
        shape(checkpoint)
    );
    format!(
        "CROSS JOIN LATERAL (SELECT jsonb_typeof({data}) AS kind OFFSET 0) AS d \
         CROSS JOIN LATERAL jsonb_to_record(CASE d.kind WHEN 'object' THEN {data} ELSE '{{}}' END) \
           AS x(status jsonb, agent_name jsonb, input jsonb, metadata jsonb) \
         CROSS JOIN LATERAL (SELECT CASE d.kind \
           WHEN 'object' THEN jsonb_build_object('status', {}, 'agent_name', {}, \
             'input', CASE WHEN jsonb_typeof(x.input) = 'object' \
                 AND jsonb_typeof(x.input->'input_content') = 'string' \
               THEN jsonb_build_object('input_content', left(x.input->>'input_content', {INPUT})) END, \
             'metadata', CASE jsonb_typeof({metadata}) WHEN 'object' \
               THEN jsonb_build_object('sandbox', CASE jsonb_typeof({sandbox}) WHEN 'object' \
                 THEN jsonb_build_object('checkpoint', {checkpoint}, \
                   'repository', x.metadata->'sandbox'->'repository') \
                 ELSE {} END) \
               ELSE {} END)::text \
           WHEN 'string' THEN {data} #>> '{{}}' \
           ELSE ({})::text END AS all_of_it OFFSET 0) AS k \
         CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(k.all_of_it) <= {KEPT} \
           THEN k.all_of_it END AS kept OFFSET 0) AS l",
        cut("x.status"),
        cut("x.agent_name"),
        shape(sandbox),
        shape(metadata),
        shape(data),
    )
}

fn run_row(row: &Row, data: RunData) -> Result<RunRow> {
    Ok(RunRow {
        run_id: column::<Option<String>>(row, 0)?.unwrap_or_default(),
        session_id: column::<Option<String>>(row, 1)?.unwrap_or_default(),
        agent_id: column(row, 2)?,
        user_id: column(row, 3)?,
        run_type: column(row, 4)?,
        status: column(row, 5)?,
        run_index: column(row, 6)?,
        created_at: column(row, 7)?,
        updated_at: column(row, 8)?,
        data,
    })
}

/// `run_data` as Agno reads it out of jsonb. A string of JSON is decoded where that makes an object;
/// any other stays a text, so that the gate refuses it in Agno's order.
fn data(text: &str) -> RunData {
    match Json::parse(text) {
        Ok(Json::Text(text)) => of_string(text),
        Ok(value) => RunData::Value(value),
        Err(error) => no_json(&error),
    }
}

/// Data of which a list would keep `bytes`.
fn too_large_to_list(bytes: u64) -> RunData {
    RunData::Unreadable(format!(
        "what a list reads of its run_data is {}, over the {} that it may be",
        human_bytes(bytes),
        human_bytes(KEPT as u64)
    ))
}

fn of_string(text: String) -> RunData {
    RunData::Value(match Json::parse(&text) {
        Ok(object @ Json::Object(_)) => object,
        _ => Json::Text(text),
    })
}

/// A row whose data was read whole.
enum Whole {
    Row(RunRow),
    /// More than is read at once, though what a list keeps of it may be little.
    TooLarge(RunRow),
}

impl Read {
    /// The run with exactly this id, with all of its data.
    pub(super) async fn run(&self, run_id: &str) -> Result<Option<RunRow>> {
        match self.whole(run_id).await? {
            Some(Whole::TooLarge(run)) => {
                let listed = self.listed(&[run_id.to_owned()]).await?.pop();
                let readable = listed.filter(|run| matches!(run.data, RunData::Value(_)));
                Ok(Some(readable.unwrap_or(run)))
            }
            Some(Whole::Row(run)) => Ok(Some(run)),
            None => Ok(None),
        }
    }

    async fn whole(&self, run_id: &str) -> Result<Option<Whole>> {
        let sql = format!(
            "SELECT {COLUMNS}, octet_length(t.text)::bigint, \
               CASE WHEN octet_length(t.text) <= {MAX_RUN_DATA} THEN t.text END \
             FROM {} AS r CROSS JOIN LATERAL (SELECT r.run_data::jsonb::text AS text OFFSET 0) AS t \
             WHERE r.run_id = $1 LIMIT 1",
            self.named.runs
        );
        let row = self.transaction.row(&sql, &[(&run_id, Type::TEXT)]).await?;
        let Some(row) = row else { return Ok(None) };
        let length: Option<i64> = column(&row, DATA)?;
        let text: Option<&str> = column(&row, DATA + 1)?;
        Ok(Some(match (text, length) {
            (Some(text), _) => Whole::Row(run_row(&row, data(text))?),
            (None, None) => Whole::Row(run_row(&row, RunData::Value(Json::Null))?),
            (None, Some(length)) => {
                let length = u64::try_from(length).unwrap_or_default();
                Whole::TooLarge(run_row(&row, too_large(length))?)
            }
        }))
    }

    /// The runs with these ids that are there, in this order, as lists keep them.
    pub(super) async fn listed(&self, run_ids: &[String]) -> Result<Vec<RunRow>> {
        // By the key, one after the other: never a scan, whatever the statistics say.
        let sql = format!(
            "SELECT {COLUMNS}, d.kind, l.kept, octet_length(k.all_of_it)::bigint \
             FROM unnest($1::text[]) WITH ORDINALITY AS i(id, n) \
             CROSS JOIN LATERAL (SELECT * FROM {} AS r WHERE r.run_id = i.id LIMIT 1) AS r {} \
             ORDER BY i.n",
            self.named.runs,
            kept()
        );
        let mut runs = Vec::with_capacity(run_ids.len());
        let mut texts = TEXTS;
        for ids in run_ids.chunks(AT_ONCE) {
            let values = [(&ids as _, Type::TEXT_ARRAY)];
            for row in self.transaction.rows(&sql, &values).await? {
                let kind: Option<&str> = column(&row, DATA)?;
                let kept: Option<&str> = column(&row, DATA + 1)?;
                let found = match (kind, kept) {
                    (None, _) => RunData::Value(Json::Null),
                    (Some("string"), Some(text)) => of_string(text.to_owned()),
                    (Some(_), Some(text)) => data(text),
                    (Some(kind), None) => {
                        let length = column::<Option<i64>>(&row, DATA + 2)?.unwrap_or_default();
                        let length = u64::try_from(length).unwrap_or_default();
                        if kind == "string" && length <= texts {
                            texts -= length;
                            let run_id: Option<String> = column(&row, 0)?;
                            let whole = self.whole(&run_id.unwrap_or_default()).await?;
                            runs.extend(whole.map(|whole| match whole {
                                Whole::Row(run) | Whole::TooLarge(run) => run.listed(),
                            }));
                            continue;
                        }
                        too_large_to_list(length)
                    }
                };
                runs.push(run_row(&row, found)?.listed());
            }
        }
        Ok(runs)
    }
}
