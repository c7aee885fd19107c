//! The Info view: what is known of the run that the panes are about, from its row to its notices, in
//! sections that fold. A commit, a stash and the row's JSON unfold to what a job makes of them.

use super::fold::{Block, Fold, Info, InfoLine};
use super::lines::{both_sizes, failure_lines, said, wrapped};
use super::{Chain, CommitRows, Detail, Opened, Pane, STAGES, State, Step};
use crate::progress::Stage;
use crate::runs::{RunData, RunRow, gate, told};
use crate::text::{visible, visible_bytes, visible_text};
use crate::tui::fit;
use crate::tui::theme::{Tone, Toned};

/// Commits, stashes and notices listed; an agent can make any number of them.
const LISTED: usize = 500;
/// Characters of a text that are shown.
const SHOWN: usize = 2_000;

/// The name of the section that holds the row's JSON.
pub const JSON: &str = "json";

/// The name of a commit, or of a stash, which is one.
#[must_use]
pub fn commit_name(id: &str) -> String {
    format!("commit {id}")
}

/// The view while it is being written.
struct Sheet<'a> {
    state: &'a State,
    width: usize,
    info: Info<'a>,
    said: Vec<InfoLine>,
    /// Whether the section that is being written is open.
    open: bool,
}

impl<'a> Sheet<'a> {
    fn new(state: &'a State) -> Self {
        Self {
            state,
            width: usize::from(state.areas().body(Pane::Content).width),
            info: Info::default(),
            said: Vec::new(),
            open: true,
        }
    }

    /// Says a line in the open section.
    fn push(&mut self, line: Toned) {
        if self.open {
            self.said.extend(
                wrapped(line, self.width)
                    .into_iter()
                    .map(|line| InfoLine { line, fold: None }),
            );
        }
    }

    fn extend(&mut self, lines: impl IntoIterator<Item = Toned>) {
        for line in lines {
            self.push(line);
        }
    }

    /// Says what can be unfolded; whether it is.
    fn fold(&mut self, name: String, level: u8, at_first: bool, line: Toned) -> bool {
        let open = self.state.content.info.is_open(&name, at_first);
        let sign = if open { "▾ " } else { "▸ " };
        let indent = " ".repeat(2 * usize::from(level));
        let mut whole = vec![(Tone::Accent, format!("{indent}{sign}"))];
        whole.extend(line);
        let mut lines = wrapped(whole, self.width).into_iter();
        self.said.push(InfoLine {
            line: lines.next().unwrap_or_default(),
            fold: Some(Fold { name, level, open }),
        });
        self.said
            .extend(lines.map(|line| InfoLine { line, fold: None }));
        open
    }

    /// Begins a section, after an empty line.
    fn section(&mut self, name: &str, heading: &str, at_first: bool) -> bool {
        if self.info.push_said(&mut self.said) {
            self.said.push(InfoLine::default());
        }
        let heading = vec![(Tone::Accent, heading.to_owned())];
        self.open = self.fold(name.to_owned(), 0, at_first, heading);
        self.open
    }

    fn block(&mut self, block: Block<'a>) {
        self.info.push_said(&mut self.said);
        self.info.push(block);
    }

    fn done(mut self) -> Info<'a> {
        self.info.push_said(&mut self.said);
        self.info
    }

    /// What `name` unfolds to, or how far its loading is.
    fn detail(&mut self, name: &str, indent: &str) -> Option<&'a Detail> {
        let load = self.state.content.info.details.get(name);
        if let Some(failure) = load.and_then(|load| load.failure.as_ref()) {
            self.push(vec![
                (Tone::Bad, format!("{indent}✖ ")),
                (Tone::Plain, failure.message.clone()),
            ]);
            return None;
        }
        let value = load.and_then(|load| load.value.as_ref());
        if value.is_none() {
            self.push(said(format!("{indent}Reading…")));
        }
        value
    }
}

/// The start of a text from outside, safe to show; a row may hold megabytes of it.
fn shown(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN).map(|(end, _)| end);
    match cut {
        Some(end) => format!("{}…", visible(&text[..end])),
        None => visible(text).into_owned(),
    }
}

fn field(name: &str, value: impl Into<String>) -> Toned {
    vec![
        (Tone::Dim, format!("  {name:<12}")),
        (Tone::Plain, value.into()),
    ]
}

/// The lines of the view.
#[must_use]
pub fn info(state: &State) -> Info<'_> {
    let mut sheet = Sheet::new(state);
    if let Some(refusal) = &state.refusal {
        sheet.extend(failure_lines(&refusal.failure));
        if let Some(row) = &refusal.row {
            run(&mut sheet, row);
            binding(&mut sheet, row);
        }
        chain(&mut sheet, &refusal.chain);
        if refusal.row.is_some() {
            json(&mut sheet);
        }
        return sheet.done();
    }
    let Some(opened) = &state.opened else {
        match state.runs.selected() {
            Some(row) => {
                run(&mut sheet, row);
                binding(&mut sheet, row);
                if let Err(error) = gate(&row.run_id, Some(row), &state.as_opening()) {
                    sheet.open = true;
                    sheet.push(Vec::new());
                    sheet.extend(failure_lines(&error.into()));
                }
                json(&mut sheet);
            }
            None => sheet.push(said("Choose a run.")),
        }
        return sheet.done();
    };
    run(&mut sheet, &opened.row);
    binding(&mut sheet, &opened.row);
    chain(&mut sheet, &opened.chain);
    archive(&mut sheet, opened);
    comparison(&mut sheet, opened);
    json(&mut sheet);
    sheet.done()
}

/// The row that the view is about, where it is known.
#[must_use]
pub fn row(state: &State) -> Option<&RunRow> {
    match (&state.refusal, &state.opened) {
        (Some(refusal), _) => refusal.row.as_deref(),
        (None, Some(opened)) => Some(&opened.row),
        (None, None) => state.runs.selected(),
    }
}

/// The run whose row the view is about.
#[must_use]
pub fn about(state: &State) -> Option<&str> {
    match (&state.refusal, &state.opened) {
        (Some(refusal), _) => Some(&refusal.run_id),
        (None, Some(opened)) => Some(&opened.row.run_id),
        (None, None) => state.runs.selected().map(|row| row.run_id.as_str()),
    }
}

fn archive(lines: &mut Sheet<'_>, opened: &Opened) {
    lines.section("archive", "Archive", true);
    lines.push(field("sha256", opened.reference.sha256()));
    let form = if opened.gzipped {
        "gzipped tar"
    } else {
        "plain tar"
    };
    lines.push(field(
        "stored",
        format!("{}, {form}", both_sizes(opened.reference.size())),
    ));
    let tree = &opened.tree;
    lines.push(field(
        "holds",
        format!("{}, {}", entries(tree.entries), both_sizes(tree.bytes)),
    ));
    if tree.left_out > 0 {
        let links = fit::count(tree.left_out, "link");
        lines.push(field(
            "left out",
            format!("{links} to absolute paths, by a restore"),
        ));
    }
    if let Some(why) = &opened.unrestorable {
        lines.push(vec![
            (Tone::Bad, "  ✖ cannot be restored: ".into()),
            (Tone::Plain, why.clone()),
        ]);
    }
    lines.push(field("state", opened.state.clone()));
}

/// The row's JSON, folded at first.
fn json(lines: &mut Sheet<'_>) {
    if lines.section(JSON, "Row as JSON", false)
        && let Some(Detail::Json(made)) = lines.detail(JSON, "  ")
    {
        lines.block(Block::Made(made));
    }
}

/// What a commit changed, file by file.
fn commit<'a>(lines: &mut Sheet<'a>, id: &str, rows: &'a CommitRows) {
    lines.push(vec![
        (Tone::Plain, "    ".into()),
        (Tone::Dim, rows.heading.clone()),
    ]);
    for (index, file) in rows.files.iter().enumerate() {
        let mut line = vec![
            (file.letter.0, format!("{} ", file.letter.1)),
            (Tone::Strong, file.title.clone()),
        ];
        line.extend(file.counts.iter().cloned());
        if lines.fold(format!("file {id} {index}"), 2, true, line) {
            lines.block(Block::Rows(&file.rows, file.digits));
        }
    }
    if let Some(cut) = &rows.cut {
        lines.push(said(format!("    … {cut}")));
    }
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".into(),
        count => format!("{} entries", crate::text::grouped(count)),
    }
}

fn run(lines: &mut Sheet<'_>, row: &RunRow) {
    let state = lines.state;
    lines.section("run", "Run", true);
    lines.push(field("run", shown(&row.run_id)));
    if let Some(turn) = row.turn() {
        lines.push(field("turn", turn.to_string()));
    }
    let session = state.runs.sessions.get(&row.session_id);
    if let Some(session) = session.filter(|session| session.title != row.session_id) {
        lines.push(field("session", shown(&session.title)));
    }
    lines.push(field("session id", shown(&row.session_id)));
    let agent = row.agent_id.as_deref().map_or("none".into(), shown);
    match row.agent_name() {
        Some(name) if Some(name) != row.agent_id.as_deref() => {
            lines.push(field("agent", format!("{agent}  {}", shown(name))));
        }
        _ => lines.push(field("agent", agent)),
    }
    if let Some(user) = &row.user_id {
        lines.push(field("user", shown(user)));
    }
    if let Some(kind) = &row.run_type {
        lines.push(field("type", shown(kind)));
    }
    let status = row.effective_status();
    let status = if status.is_empty() {
        "unknown".into()
    } else {
        status
    };
    lines.push(field("status", shown(&status)));
    for (name, at) in [("created", row.created_at), ("updated", row.updated_at)] {
        if let Some(at) = at {
            let time = jiff::Timestamp::from_second(at)
                .map_or_else(|_| at.to_string(), |at| at.to_string());
            lines.push(field(
                name,
                format!("{time}  ({} ago)", fit::age(state.now(), Some(at))),
            ));
        }
    }
    if let Some(warning) = super::warning(state, row) {
        let mut line = field("retention", warning);
        line[1].0 = Tone::Warn;
        lines.push(line);
    }
    if let Some(input) = row.input() {
        lines.push(field("input", shown(input)));
    }
    if let RunData::Unreadable(why) = &row.data {
        lines.push(vec![
            (Tone::Bad, "  ✖ damaged: ".into()),
            (Tone::Plain, shown(why)),
        ]);
    }
    if let Some(pin) = row.repository() {
        lines.push(field("repository", shown(&pin.url)));
        if let Some(branch) = &pin.branch {
            lines.push(field("branch", shown(branch)));
        }
        lines.push(field("pin", shown(&pin.commit)));
    }
}

/// What the run's session is bound to, where it is bound to anything.
fn binding(lines: &mut Sheet<'_>, row: &RunRow) {
    let state = lines.state;
    let bound = &state.live.bound;
    let of_this = bound.session.as_ref() == Some(&row.session_id);
    let Some(binding) = bound.binding.as_ref().filter(|_| of_this) else {
        return;
    };
    let listed = state.runs.runs.iter().chain(&state.runs.search.found);
    let rows: Vec<&RunRow> = listed
        .filter(|run| run.session_id == row.session_id)
        .collect();
    lines.section("binding", "Session", true);
    for (name, value) in told(binding, &rows, state.now()) {
        lines.push(field(name, shown(&value)));
    }
}

fn chain(lines: &mut Sheet<'_>, chain: &Chain) {
    lines.section("proof", "Proof", true);
    for (stage, step) in STAGES.iter().zip(&chain.steps) {
        let what = match stage {
            Stage::Row => "the run's row was read",
            Stage::Gate => "the gate let it pass",
            Stage::Object => "the stored object has the reference's size",
            Stage::Digest => "its bytes have the reference's sha256",
            _ => "it is a valid checkpoint archive",
        };
        let (tone, mark) = match step {
            Step::Passed(_) => (Tone::Good, "✔"),
            Step::Working(..) => (Tone::Busy, "…"),
            Step::Failed(_) => (Tone::Bad, "✖"),
            Step::Waiting => (Tone::Dim, "·"),
        };
        let asked = match step {
            Step::Waiting => " (not reached)".to_owned(),
            Step::Failed(word) => format!(": no, {word}"),
            _ => String::new(),
        };
        lines.push(vec![
            (tone, format!("  {mark} ")),
            (Tone::Plain, format!("{what}{asked}")),
        ]);
    }
    if chain
        .steps
        .iter()
        .all(|step| matches!(step, Step::Passed(_)))
    {
        let age = fit::age(lines.state.now(), Some(chain.now.div_euclid(1000)));
        lines.push(vec![(
            Tone::Dim,
            format!(
                "  verified {age} ago; its bytes are held since, whatever becomes of the store"
            ),
        )]);
    }
}

fn comparison<'a>(lines: &mut Sheet<'a>, opened: &'a Opened) {
    let now = lines.state.now();
    if let Some(failure) = &opened.comparison.failure {
        lines.section("comparison", "Comparison", true);
        lines.extend(failure_lines(failure));
    }
    let Some(compared) = opened.comparison.done.as_deref() else {
        return;
    };
    lines.section("compared", "Compared", true);
    lines.push(field("base", compared.base.clone()));
    lines.push(field("folder", visible_bytes(&compared.root)));
    for (name, commit) in [("pin", &compared.pin), ("head", &compared.head)] {
        lines.push(field(
            name,
            commit.as_deref().map_or("none".into(), visible),
        ));
    }
    lines.push(field(
        "changed",
        fit::count(compared.files.len() as u64, "file"),
    ));
    lines.push(field("ignored", fit::count(compared.ignored, "file")));
    let commits = format!("Commits since the pin: {}", compared.commits.len());
    if lines.section("commits", &commits, true) {
        for one in compared.commits.iter().take(LISTED) {
            let age = fit::age(now, Some(one.time));
            let about = format!("  {}, {age} ago", visible(&one.author));
            history(lines, &one.id, &one.subject, Some(about));
        }
        more(lines, compared.commits.len());
    }
    let stashes = format!("Stashes: {}", compared.stashes.len());
    if lines.section("stashes", &stashes, true) {
        for stash in compared.stashes.iter().take(LISTED) {
            history(lines, &stash.id, &stash.subject, None);
        }
        more(lines, compared.stashes.len());
    }
    let notices = format!("Notices: {}", compared.notices.len());
    lines.section("notices", &notices, true);
    for notice in compared.notices.iter().take(LISTED) {
        let mut line = vec![(Tone::Warn, format!("  ! {} ", notice.tag))];
        if let Some(path) = &notice.path {
            line.push((Tone::Strong, format!("{} ", visible_bytes(path))));
        }
        line.push((Tone::Plain, visible(&notice.message).into_owned()));
        lines.push(line);
    }
    more(lines, compared.notices.len());
}

/// A commit or a stash, and what it changed when it is unfolded.
fn history(lines: &mut Sheet<'_>, id: &str, subject: &str, about: Option<String>) {
    let mut line = vec![
        (Tone::Warn, format!("{} ", id.get(..7).unwrap_or(id))),
        (Tone::Plain, visible_text(subject).into_owned()),
    ];
    line.extend(about.map(|about| (Tone::Dim, about)));
    let name = commit_name(id);
    if lines.fold(name.clone(), 1, false, line)
        && let Some(Detail::Commit(rows)) = lines.detail(&name, "    ")
    {
        commit(lines, id, rows);
    }
}

/// Says how many are not listed.
fn more(lines: &mut Sheet<'_>, all: usize) {
    if all > LISTED {
        lines.push(said(format!("  … and {} more", all - LISTED)));
    }
}
