//! What a line of Info unfolds to, made ready to be drawn: a commit's own diff, or a row's JSON.

use super::ready::{hunks, without_hunks};
use crate::json::Json;
use crate::review::{CommitDiff, Parent};
use crate::runs::{RunData, RunRow};
use crate::text::{grouped, visible};
use crate::tui::fit;
use crate::tui::state::{CommitFile, CommitRows, change_title, counts, status_tone};
use crate::tui::theme::{Tone, Toned};

/// Lines of JSON that are shown.
const LINES: usize = 2_000;
/// Characters of one text in it.
const TEXT: usize = 2_000;
/// Nesting that is still shown by an indent.
const INDENTED: usize = 40;

/// A commit's diff as rows.
pub(super) fn commit(diff: &CommitDiff) -> CommitRows {
    let short = |id: &str| id.get(..7).unwrap_or(id).to_owned();
    let files = (diff.files.len() as u64).saturating_add(diff.more);
    let heading = match &diff.parent {
        Parent::Commit(_) if diff.files.is_empty() => "It changed no file.".into(),
        Parent::Commit(id) => format!(
            "{} against its parent {}",
            fit::count(files, "file"),
            short(id)
        ),
        Parent::None => format!("the first commit: {}", fit::count(files, "file")),
        Parent::Missing(id) => format!(
            "Its parent {} is not in the checkout, which is shallow: what it changed is not known.",
            short(id)
        ),
    };
    let files = diff.files.iter().map(|(change, patch)| {
        let mut rows = Vec::new();
        without_hunks(change, patch, None, &mut rows);
        let digits = hunks(patch, &mut rows);
        CommitFile {
            letter: (status_tone(change.status), change.status.letter()),
            title: change_title(change),
            counts: counts(change),
            rows,
            digits,
        }
    });
    let more = (diff.more > 0).then(|| format!("{} more files", grouped(diff.more)));
    let cut = [
        more,
        diff.cut.as_deref().map(|why| visible(why).into_owned()),
    ];
    let cut: Vec<String> = cut.into_iter().flatten().collect();
    CommitRows {
        heading,
        files: files.collect(),
        cut: (!cut.is_empty()).then(|| cut.join("; ")),
    }
}

/// A row as an object of its columns, over several lines.
pub(super) fn row(row: &RunRow) -> Vec<Toned> {
    let text = |text: &str| Json::Text(text.to_owned());
    let some = |value: Option<&String>| value.map_or(Json::Null, |value| text(value));
    let number = |value: Option<i64>| value.map_or(Json::Null, |at| Json::Int(at.to_string()));
    let columns = [
        ("run_id", text(&row.run_id)),
        ("session_id", text(&row.session_id)),
        ("agent_id", some(row.agent_id.as_ref())),
        ("user_id", some(row.user_id.as_ref())),
        ("run_type", some(row.run_type.as_ref())),
        ("status", some(row.status.as_ref())),
        ("run_index", number(row.run_index)),
        ("created_at", number(row.created_at)),
        ("updated_at", number(row.updated_at)),
    ];
    let mut printer = Printer::default();
    printer.opened("{", 0, None);
    for (name, value) in &columns {
        printer.value(Some(name), value, 1, ",");
    }
    match &row.data {
        RunData::Value(value) => printer.value(Some("run_data"), value, 1, ""),
        RunData::Unreadable(why) => printer.line(
            1,
            vec![
                (Tone::Type, "\"run_data\"".into()),
                (Tone::Plain, ": ".into()),
                (Tone::Bad, format!("damaged: {}", visible(why))),
            ],
        ),
    }
    printer.line(0, vec![(Tone::Plain, "}".into())]);
    printer.done()
}

/// What is still to be printed of a list or an object.
enum Rest<'a> {
    List(std::slice::Iter<'a, Json>),
    Object(std::slice::Iter<'a, (String, Json)>),
}

/// Prints JSON in lines, without recursion: a row may nest as deep as it likes.
#[derive(Default)]
struct Printer {
    lines: Vec<Toned>,
    more: bool,
}

impl Printer {
    fn line(&mut self, depth: usize, line: Toned) {
        if self.lines.len() == LINES {
            self.more = true;
            return;
        }
        let mut whole = vec![(Tone::Plain, "  ".repeat(depth.min(INDENTED)))];
        whole.extend(line);
        self.lines.push(whole);
    }

    fn opened(&mut self, bracket: &str, depth: usize, name: Option<&str>) {
        let mut line = named(name);
        line.push((Tone::Plain, bracket.to_owned()));
        self.line(depth, line);
    }

    fn value(&mut self, name: Option<&str>, value: &Json, depth: usize, after: &str) {
        let mut open: Vec<(Rest<'_>, &str)> = Vec::new();
        let mut next = Some((name, value, after));
        while !self.more {
            if let Some((name, value, after)) = next.take() {
                let depth = depth + open.len();
                match value {
                    Json::List(items) if !items.is_empty() => {
                        self.opened("[", depth, name);
                        open.push((Rest::List(items.iter()), after));
                    }
                    Json::Object(items) if !items.is_empty() => {
                        self.opened("{", depth, name);
                        open.push((Rest::Object(items.iter()), after));
                    }
                    plain => {
                        let mut line = named(name);
                        line.push(scalar(plain));
                        line.push((Tone::Plain, after.to_owned()));
                        self.line(depth, line);
                    }
                }
            }
            let Some((rest, _)) = open.last_mut() else {
                return;
            };
            let comma = |left: usize| if left > 0 { "," } else { "" };
            let (found, bracket) = match rest {
                Rest::List(items) => (
                    items.next().map(|item| (None, item, comma(items.len()))),
                    "]",
                ),
                Rest::Object(items) => (
                    items
                        .next()
                        .map(|(name, item)| (Some(name.as_str()), item, comma(items.len()))),
                    "}",
                ),
            };
            match found {
                Some(found) => next = Some(found),
                None => {
                    let after = open.pop().map_or("", |(_, after)| after);
                    let depth = depth + open.len();
                    self.line(depth, vec![(Tone::Plain, format!("{bracket}{after}"))]);
                }
            }
        }
    }

    fn done(mut self) -> Vec<Toned> {
        if self.more {
            let text = format!("… only the first {} lines are shown", grouped(LINES as u64));
            self.lines.push(vec![(Tone::Dim, text)]);
        }
        self.lines
    }
}

fn named(name: Option<&str>) -> Toned {
    match name {
        Some(name) => vec![(Tone::Type, quoted(name)), (Tone::Plain, ": ".into())],
        None => Toned::new(),
    }
}

fn scalar(value: &Json) -> (Tone, String) {
    match value {
        Json::Null => (Tone::Constant, "null".into()),
        Json::Bool(value) => (Tone::Constant, value.to_string()),
        Json::Int(digits) => (Tone::Constant, start(digits)),
        // As Python writes what JSON has no word for.
        Json::Float(number) if number.is_nan() => (Tone::Constant, "NaN".into()),
        Json::Float(number) if number.is_infinite() => {
            let sign = if *number < 0.0 { "-" } else { "" };
            (Tone::Constant, format!("{sign}Infinity"))
        }
        Json::Float(number) => (Tone::Constant, format!("{number:?}")),
        Json::Text(text) => (Tone::Quoted, quoted(text)),
        Json::List(_) => (Tone::Plain, "[]".into()),
        Json::Object(_) => (Tone::Plain, "{}".into()),
    }
}

/// The start of a text that may be megabytes long.
fn start(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text in quotes; what a terminal would obey is written out.
fn quoted(text: &str) -> String {
    let (text, more) = match text.char_indices().nth(TEXT) {
        Some((end, _)) => (&text[..end], text.len() - end),
        None => (text, 0),
    };
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let shown = visible(&escaped);
    match more {
        0 => format!("\"{shown}\""),
        more => format!("\"{shown}\"… and {} bytes more", grouped(more as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{FileChange, FilePatch, Status};

    fn printed(text: &str) -> Vec<String> {
        let value = Json::parse(text).expect("JSON");
        let mut printer = Printer::default();
        printer.value(None, &value, 0, "");
        let lines = printer.done().into_iter();
        lines
            .map(|line| line.into_iter().map(|(_, text)| text).collect())
            .collect()
    }

    #[test]
    fn prints_what_python_reads() {
        assert_eq!(
            printed(r#"{"a":[1,{"b":NaN}],"c":"x\u001b\"\\","d":[],"e":-Infinity,"f":"\ud800"}"#),
            [
                "{",
                "  \"a\": [",
                "    1,",
                "    {",
                "      \"b\": NaN",
                "    }",
                "  ],",
                "  \"c\": \"x\\x1b\\\"\\\\\",",
                "  \"d\": [],",
                "  \"e\": -Infinity,",
                "  \"f\": \"\u{fffd}\"",
                "}"
            ]
        );
    }

    #[test]
    fn a_worker_that_lies_about_how_many_there_are_is_printed() {
        let told = commit(&CommitDiff {
            parent: Parent::None,
            files: vec![(
                FileChange {
                    status: Status::Added,
                    path: b"a".to_vec(),
                    old_path: None,
                    old_mode: 0,
                    new_mode: 0o100_644,
                    additions: None,
                    deletions: None,
                    binary: false,
                    opaque: None,
                    deltas: Vec::new(),
                },
                FilePatch::default(),
            )],
            more: u64::MAX,
            cut: None,
        });
        assert!(told.heading.contains("18,446,744,073,709,551,615 files"));
    }

    #[test]
    fn deep_long_and_wide_rows_have_an_end() {
        let deep = format!("{}1{}", "[".repeat(900), "]".repeat(900));
        let lines = printed(&deep);
        assert_eq!(lines.len(), 1_801);
        assert!(lines.iter().all(|line| line.len() <= 2 * INDENTED + 2));
        let wide = format!("[{}0]", "0,".repeat(10_000));
        let lines = printed(&wide);
        assert_eq!(lines.len(), LINES + 1);
        assert!(lines[LINES].contains("only the first 2,000 lines"));
        let long = format!("\"{}\"", "x".repeat(100_000));
        assert!(printed(&long)[0].ends_with("… and 98,000 bytes more"));
    }
}
