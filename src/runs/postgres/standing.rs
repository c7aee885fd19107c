//! How Agno's tables stand in a database: which are there, with which columns, and what of them may be
//! read; and where they are not as expected, what is wrong and what was probably meant.

use std::collections::HashMap;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Read;
use super::tables::{JOBS, quoted};
use super::value::column;
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::Transaction;
use crate::runs::database::{CHECKPOINTS, Tables};
use crate::text::visible;

/// The columns of the runs table that are read.
const RUNS: &[&str] = &[
    "run_id",
    "session_id",
    "agent_id",
    "user_id",
    "run_type",
    "status",
    "run_index",
    "run_data",
    "created_at",
    "updated_at",
];
const SESSIONS: &[&str] = &["session_id", "session_data"];
const BINDINGS: &[&str] = &[
    "namespace",
    "session_id",
    "agent_id",
    "run_id",
    "expires_at",
    "record",
];
const JOBS_COLUMNS: &[&str] = &["status", "locked_at"];
/// Tables that are named in one message.
const SEVERAL: usize = 8;

/// One table or view.
#[derive(Default)]
struct Relation {
    columns: Vec<String>,
    readable: Vec<String>,
}

impl Relation {
    fn may_read(&self, columns: &[&str]) -> bool {
        columns
            .iter()
            .all(|column| self.readable.iter().any(|one| one == column))
    }

    fn missing(&self, columns: &[&str]) -> Vec<String> {
        let there = |column: &&&str| !self.columns.iter().any(|one| one == **column);
        let missing = columns.iter().filter(there);
        missing.map(|column| (*column).to_owned()).collect()
    }
}

/// The tables as a transaction finds them.
pub(super) struct Standing {
    has_schema: bool,
    may_use_schema: bool,
    sessions: Option<Relation>,
    runs: Option<Relation>,
    bindings: Optional,
    jobs: Optional,
}

/// How a table stands that can be done without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Optional {
    /// It is not there, or is none of Agno's.
    Absent,
    /// It is there, and may not be read: what it says is unknown.
    Hidden,
    Readable,
}

impl Standing {
    /// Looks, in PostgreSQL's own catalogue.
    pub(super) async fn of(transaction: &Transaction, tables: &Tables) -> Result<Self> {
        let bindings = tables.bindings();
        let names: Vec<&str> = vec![&tables.sessions, &tables.runs, &bindings, JOBS];
        let sql = "SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE'), c.relname::pg_catalog.text, \
               ARRAY(SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute AS a \
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), \
               ARRAY(SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute AS a \
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
                   AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')) \
             FROM pg_catalog.pg_namespace AS n \
             LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid \
               AND c.relname = ANY($2) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
             WHERE n.nspname = $1";
        let values = [
            (&tables.schema as _, Type::TEXT),
            (&names as _, Type::TEXT_ARRAY),
        ];
        let rows = match can_be_named(tables) {
            true => transaction.rows(sql, &values).await?,
            false => Vec::new(),
        };
        let mut found: HashMap<String, Relation> = HashMap::new();
        let mut may_use_schema = false;
        for row in &rows {
            may_use_schema = column(row, 0)?;
            if let Some(name) = column(row, 1)? {
                let (columns, readable) = (column(row, 2)?, column(row, 3)?);
                found.insert(name, Relation { columns, readable });
            }
        }
        let may_read = |name: &str, columns: &[&str]| match found.get(name) {
            Some(one) if may_use_schema && one.may_read(columns) => Optional::Readable,
            Some(one) if one.missing(columns).is_empty() => Optional::Hidden,
            _ => Optional::Absent,
        };
        Ok(Self {
            has_schema: !rows.is_empty(),
            may_use_schema,
            bindings: may_read(&bindings, BINDINGS),
            jobs: may_read(JOBS, JOBS_COLUMNS),
            sessions: found.remove(&tables.sessions),
            runs: found.remove(&tables.runs),
        })
    }

    /// Whether there is what every read needs.
    pub(super) fn is_enough(&self) -> bool {
        let may_read =
            |one: &Option<Relation>, columns| one.as_ref().is_some_and(|one| one.may_read(columns));
        self.may_use_schema && may_read(&self.runs, RUNS) && may_read(&self.sessions, SESSIONS)
    }

    /// Whether sessions have names.
    pub(super) fn has_sessions(&self) -> bool {
        let sessions = self.sessions.as_ref();
        sessions.is_some_and(|sessions| sessions.may_read(SESSIONS))
    }

    /// Whether there are bindings that may be read.
    pub(super) fn has_bindings(&self) -> bool {
        self.bindings == Optional::Readable
    }

    /// How the queue of jobs stands.
    pub(super) fn jobs(&self) -> Optional {
        self.jobs
    }

    /// Why it is not enough, and what to do.
    pub(super) async fn refusal(
        &self,
        transaction: &Transaction,
        tables: &Tables,
        database: &str,
    ) -> Result<Error> {
        let named = |what: String| Error::new(ErrorKind::Database, format!("{database} {what}"));
        let in_schema = |name: &str| format!("{}.{}", visible(&tables.schema), visible(name));
        let (sessions, runs) = (in_schema(&tables.sessions), in_schema(&tables.runs));
        if self.has_schema && !self.may_use_schema {
            return Ok(named(format!(
                "does not let this user look into the schema {}",
                visible(&tables.schema)
            ))
            .hint(format!(
                "its owner can: GRANT USAGE ON SCHEMA {} TO the user, and SELECT on {sessions} and {runs}",
                visible(&quoted(&tables.schema))
            )));
        }
        let Some(found) = &self.runs else {
            let legacy = self.sessions.as_ref();
            if legacy.is_some_and(|sessions| sessions.columns.iter().any(|one| one == "runs")) {
                return Ok(named(format!(
                    "keeps runs inside {sessions}, as Agno 2.x did; expected a table {runs}"
                ))
                .hint("migrate the database with Agno 3.1.5 or later, then open it again"));
            }
            let what = match self.has_schema {
                true => format!("has no table {runs}"),
                false => format!("has no schema {}", visible(&tables.schema)),
            };
            let (others, hint) = elsewhere(transaction, tables).await?;
            return Ok(named(format!(
                "{what}; expected Agno's {sessions} and {runs}, found {others}"
            ))
            .hint(hint));
        };
        let missing = found.missing(RUNS);
        if !missing.is_empty() {
            return Ok(named(format!(
                "has a table {runs} without {}, which Agno 3's has",
                missing.join(", ")
            ))
            .hint("another table is named with --schema and --runs-table"));
        }
        let without = self.sessions.as_ref().map(|one| one.missing(SESSIONS));
        if found.may_read(RUNS) && without.as_ref().is_none_or(|missing| !missing.is_empty()) {
            let what = match without {
                None => format!("has no table {sessions}; expected Agno's beside {runs}"),
                Some(missing) => format!(
                    "has a table {sessions} without {}, which Agno's sessions have",
                    missing.join(", ")
                ),
            };
            let (others, hint) = beside(transaction, tables).await?;
            return Ok(named(format!("{what}, found {others}")).hint(hint));
        }
        let hidden = match found.may_read(RUNS) {
            true => (&tables.sessions, sessions),
            false => (&tables.runs, runs),
        };
        Ok(
            named(format!("does not let this user read {}", hidden.1)).hint(format!(
                "its owner can: GRANT SELECT ON {}.{} TO the user; nothing more is needed",
                visible(&quoted(&tables.schema)),
                visible(&quoted(hidden.0))
            )),
        )
    }
}

/// Whether PostgreSQL can have such names at all.
fn can_be_named(tables: &Tables) -> bool {
    let names = [&tables.schema, &tables.sessions, &tables.runs];
    names.into_iter().all(|name| !name.contains('\0'))
}

/// A table that has the columns of one of Agno's.
struct Alike {
    schema: String,
    name: String,
    kind: String,
}

impl Alike {
    fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            schema: column(row, 0)?,
            name: column(row, 1)?,
            kind: column(row, 2)?,
        })
    }

    fn shown(&self) -> String {
        format!("{}.{}", visible(&self.schema), visible(&self.name))
    }
}

/// What there is in place of Agno's tables, in words, and how to name it.
async fn elsewhere(transaction: &Transaction, tables: &Tables) -> Result<(String, String)> {
    let alike = alike(transaction).await?;
    let of = |kind: &str| {
        let of = alike.iter().filter(|one| one.kind == kind);
        of.collect::<Vec<_>>()
    };
    let (runs, sessions, legacy) = (of("runs"), of("sessions"), of("legacy"));
    if !runs.is_empty() {
        let mut ways = Vec::new();
        let mut found = Vec::new();
        for one in runs.iter().take(SEVERAL) {
            // Its sessions are in its schema, and most likely called alike.
            let beside = sessions.iter().filter(|other| other.schema == one.schema);
            let beside = beside.max_by_key(|other| common(&other.name, &one.name));
            found.extend(beside.map(|sessions| sessions.shown()));
            found.push(one.shown());
            ways.push(flags(tables, one, beside.copied()));
        }
        found.dedup();
        return Ok((
            format!("{}, which look like them", found.join(", ")),
            format!("name them: {}", ways.join(", or ")),
        ));
    }
    if let Some(legacy) = legacy.first() {
        return Ok((
            format!("{} with runs inside, as in Agno 2.x", legacy.shown()),
            "migrate the database with Agno 3.1.5 or later, then open it again".into(),
        ));
    }
    let hint = "another database may have them, or others of its tables: --db, --schema, --sessions-table, --runs-table";
    Ok((some_tables(transaction, tables).await?, hint.into()))
}

/// What there is in the schema of the runs in place of their sessions, and how to name it.
async fn beside(transaction: &Transaction, tables: &Tables) -> Result<(String, String)> {
    let mut alike = alike(transaction).await?;
    alike.retain(|one| one.kind != "runs" && one.schema == tables.schema);
    // The likeliest first: as a slip of what was asked for, else as what is called like the runs.
    let near = crate::near::nearest(&tables.sessions, alike.iter().map(|one| one.name.as_str()))
        .map(str::to_owned);
    alike.sort_by_key(|one| {
        let near = near.as_ref() == Some(&one.name);
        (!near, std::cmp::Reverse(common(&one.name, &tables.runs)))
    });
    let Some(first) = alike.first() else {
        let hint = "another table is named with --sessions-table, other tables with --schema and --runs-table";
        return Ok((some_tables(transaction, tables).await?, hint.into()));
    };
    let shown: Vec<String> = alike.iter().take(SEVERAL).map(Alike::shown).collect();
    let like = match alike.len() {
        1 => "looks like it",
        _ => "look like it",
    };
    Ok((
        format!("{}, which {like}", shown.join(", ")),
        format!(
            "name it: --sessions-table {}",
            visible(&argument(&first.name))
        ),
    ))
}

/// Letters that two names have in common at their beginning.
fn common(one: &str, other: &str) -> usize {
    one.chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .count()
}

/// `name` as a shell takes it.
fn argument(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

/// The flags that differ from what was asked for.
fn flags(tables: &Tables, runs: &Alike, sessions: Option<&Alike>) -> String {
    let mut flags = Vec::new();
    let mut flag = |flag: &str, name: &str, asked: &str| {
        if name != asked {
            flags.push(format!("{flag} {}", visible(&argument(name))));
        }
    };
    flag("--schema", &runs.schema, &tables.schema);
    if let Some(sessions) = sessions {
        flag("--sessions-table", &sessions.name, &tables.sessions);
    }
    flag("--runs-table", &runs.name, &tables.runs);
    flags.join(" ")
}

/// Tables with the columns of Agno's, wherever they are.
async fn alike(transaction: &Transaction) -> Result<Vec<Alike>> {
    let sql = format!(
        "SELECT n.nspname::text, c.relname::text, CASE \
             WHEN t.columns @> '{{run_id,session_id,run_index,run_data,created_at}}' THEN 'runs' \
             WHEN t.columns @> '{{session_id,session_data,session_type,runs}}' THEN 'legacy' \
             ELSE 'sessions' END \
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         CROSS JOIN LATERAL (SELECT array_agg(a.attname::text) AS columns FROM pg_catalog.pg_attribute AS a \
           WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS t \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') \
           AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_t' \
           AND (t.columns @> '{{run_id,session_id,run_index,run_data,created_at}}' \
             OR t.columns @> '{{session_id,session_data,session_type}}') \
         ORDER BY 1, 2 LIMIT {}",
        SEVERAL * SEVERAL
    );
    let rows = transaction.rows(&sql, &[]).await?;
    rows.iter().map(Alike::of).collect()
}

/// Some names of what is in the schema, or of the schemas where it is not there.
async fn some_tables(transaction: &Transaction, tables: &Tables) -> Result<String> {
    let names = async |sql: &str, values: &[_]| -> Result<Vec<String>> {
        let rows = transaction.rows(sql, values).await?;
        let name = |row: &Row| column::<String>(row, 0).map(|name| visible(&name).into_owned());
        rows.iter().map(name).collect()
    };
    let relations = names(
        &format!(
            "SELECT c.relname::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1 LIMIT {SEVERAL}"
        ),
        &[(&tables.schema, Type::TEXT)],
    )
    .await?;
    if !relations.is_empty() {
        return Ok(relations.join(", "));
    }
    let schemas = names(
        &format!(
            "SELECT n.nspname::text FROM pg_catalog.pg_namespace AS n WHERE n.nspname !~ '^pg_' \
             AND n.nspname <> 'information_schema' AND n.nspname <> $1 ORDER BY 1 LIMIT {SEVERAL}"
        ),
        &[(&tables.schema, Type::TEXT)],
    )
    .await?;
    Ok(match schemas.is_empty() {
        true => "no tables at all".into(),
        false => format!("no tables there; other schemas are {}", schemas.join(", ")),
    })
}

impl Read {
    /// Agno's table of checkpoints in the schema: the one it makes unless told otherwise, else one
    /// with its columns and its chunks beside it.
    pub(super) async fn checkpoints_table(&self, tables: &Tables) -> Result<Option<String>> {
        let sql = "SELECT c.relname::text FROM pg_catalog.pg_class AS c \
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_class AS p ON p.relnamespace = n.oid AND p.relname::text = c.relname || '_chunks' \
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v') AND p.relkind IN ('r', 'p', 'v') \
               AND (SELECT array_agg(a.attname::text) FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid \
                 AND a.attnum > 0) @> '{sha256,size,created_at}' \
               AND (SELECT array_agg(a.attname::text) FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = p.oid \
                 AND a.attnum > 0) @> '{sha256,seq,data}' \
             ORDER BY c.relname = $2 DESC, c.relname LIMIT 1";
        let values = [
            (&tables.schema as _, Type::TEXT),
            (&CHECKPOINTS as _, Type::TEXT),
        ];
        let row = self.transaction.row(sql, &values).await?;
        row.as_ref().map(|row| column(row, 0)).transpose()
    }
}
