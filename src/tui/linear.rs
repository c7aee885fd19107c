//! The interface for a screen reader: one pane, no frame, words for signs, and the terminal's cursor on
//! the row that is meant. The panes draw as ever; what differs is here, and in the layout.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use super::fit;
use super::layout::Areas;
use super::state::{Overlay, State, toned_clip, toned_width};
use super::theme::{Tone, Toned};

/// Signs and what they say; one that only parts or leads says nothing.
const WORDS: &[(&str, &str)] = &[
    ("✔", "done"),
    ("✖", "failed"),
    ("▶", "running"),
    ("◌", "pending"),
    ("‖", "paused"),
    ("⊘", "cancelled"),
    ("↻", "regenerated"),
    ("!", "warning"),
    ("▾", "unfolded"),
    ("▸", "folded"),
    ("●", "open"),
    ("*", "marked"),
    ("◆", "new"),
    ("⧗", "deleted by the next turn"),
    ("✓", "viewed"),
    ("…", "working"),
    ("→", "to"),
    ("←", "from"),
    ("–", "none"),
    ("·", ","),
    ("──", ""),
    ("└", ""),
];

/// Letters of a changed file's status.
const STATUSES: &[(&str, &str)] = &[
    ("A", "added"),
    ("M", "modified"),
    ("D", "deleted"),
    ("R", "renamed"),
    ("T", "type changed"),
    ("m", "mode changed"),
    ("?", "untracked"),
    ("S", "submodule"),
    ("U", "conflicted"),
];

/// A run's status: its sign and the word that its row says beside it.
const RUNS: &[(&str, &str)] = &[
    ("✔", "COMPLETED"),
    ("✖", "ERROR"),
    ("▶", "RUNNING"),
    ("◌", "PENDING"),
    ("‖", "PAUSED"),
    ("⊘", "CANCELLED"),
    ("↻", "REGENERATED"),
];

/// The signs that are said in words, but for those that only part or lead.
#[cfg(test)]
pub(super) fn signs() -> impl Iterator<Item = &'static str> {
    let plain = ["→", "←", "–", "·", "──", "└"];
    let all = WORDS.iter().chain(STATUSES).map(|(sign, _)| *sign);
    all.filter(move |sign| !plain.contains(sign))
}

/// What draws the place where the next letter goes.
const TYPED: &str = "▏";

/// `line` with its signs in words. What somebody wrote stays as it is: only a part that is a sign and
/// nothing else is one, or a sign that leads a part in a tone that is only ours.
#[must_use]
pub fn in_words(mut line: Toned) -> Toned {
    once(&mut line);
    let all: String = line.iter().map(|(_, text)| text.as_str()).collect();
    let mut ends_in_word = false;
    for (tone, text) in &mut line {
        // What would stand at the right edge follows at once: words take the room of signs.
        if *tone == Tone::Plain && text.len() > 2 && text.trim().is_empty() {
            *text = "  ".into();
        }
        let Some(said) = said(*tone, text, &all) else {
            ends_in_word = false;
            continue;
        };
        // Signs may stand side by side, their words may not.
        let gap = ends_in_word && said.starts_with(char::is_alphabetic);
        *text = if gap { format!(" {said}") } else { said };
        ends_in_word = text.ends_with(char::is_alphabetic);
    }
    line
}

/// [`in_words`] in at most `width` columns, `…` where something is missing: words take more room than
/// the signs that the row was made for.
#[must_use]
pub fn fitted(line: Toned, width: usize) -> Toned {
    let mut line = in_words(line);
    while line.last().is_some_and(|(_, text)| text.trim().is_empty()) {
        line.pop();
    }
    toned_clip(line, width)
}

/// Says a run's status once, where its row begins, and not again in a column of its own; and what
/// retention deletes in the words of its sign alone.
fn once(line: &mut Toned) {
    if let Some(at) = line.iter().position(|(_, text)| text == "⧗") {
        let again = |text: &str| ["next turn deletes it", "goes next"].contains(&text.trim());
        let after = line.split_off(at + 1);
        line.extend(after.into_iter().filter(|(_, text)| !again(text)));
    }
    let sign = line.first().map(|(_, text)| text.trim().to_owned());
    let status = RUNS
        .iter()
        .find(|(known, _)| Some(*known) == sign.as_deref());
    let Some((_, word)) = status else { return };
    let is_sign = |text: &str| RUNS.iter().any(|(known, _)| *known == text.trim());
    // Right beside a sign the word is that sign's own.
    let at = (2..line.len()).find(|at| line[*at].1.trim() == *word && !is_sign(&line[at - 1].1));
    if let Some((_, text)) = at.and_then(|at| line.get_mut(at)) {
        text.clear();
    }
}

fn said(tone: Tone, text: &str, all: &str) -> Option<String> {
    let sign = text.trim();
    let lead = &text[..text.len() - text.trim_start().len()];
    if matches!(tone, Tone::Added | Tone::Removed)
        && let Some(rest) = sign.strip_prefix(['+', '-', '−'])
    {
        let word = if tone == Tone::Added {
            "added"
        } else {
            "deleted"
        };
        let count = !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b',');
        return Some(if count {
            format!("{lead}{rest} {word}")
        } else {
            format!("{word}:{rest}")
        });
    }
    if text.ends_with(' ')
        && matches!(
            tone,
            Tone::Added | Tone::Removed | Tone::Changed | Tone::Bad
        )
        && let Some((_, word)) = STATUSES.iter().find(|(letter, _)| *letter == sign)
    {
        return Some(format!("{lead}{word} "));
    }
    if let Some((_, word)) = WORDS.iter().find(|(known, _)| *known == sign) {
        // A status is a sign and its word.
        let twice = !word.is_empty() && all.contains(&word.to_uppercase());
        let end = if text.ends_with(' ') { " " } else { "" };
        return Some(match *word {
            "" => String::new(),
            "," => ", ".into(),
            _ if twice => String::new(),
            word => format!("{lead}{word}{end}"),
        });
    }
    let ours = matches!(
        tone,
        Tone::Good | Tone::Bad | Tone::Warn | Tone::Busy | Tone::Accent | Tone::Dim
    );
    let (first, rest) = sign.split_once(' ').filter(|_| ours)?;
    if first == "⋯" {
        return Some(format!("{lead}{rest} left out"));
    }
    let (_, word) = WORDS.iter().find(|(known, _)| *known == first)?;
    Some(match *word {
        "," | "" => format!("{lead}{rest}"),
        "working" => format!("{lead}{rest}"),
        word => format!("{lead}{word} {rest}"),
    })
}

/// The bottom lines in words, each in as many lines of `width` columns as it takes.
#[must_use]
pub fn unrolled(lines: &[Toned], width: usize) -> Vec<Toned> {
    // The gap to the right edge is none to somebody who listens: what stands there is another line.
    let gap = |part: &(Tone, String)| part.0 == Tone::Plain && part.1.trim().is_empty();
    let parts = lines
        .iter()
        .flat_map(|line| line.split(|part| gap(part) && part.1.len() > 1));
    let lines = parts.flat_map(|line| {
        let line = in_words(line.to_vec());
        let all: String = line.iter().map(|(_, text)| text.as_str()).collect();
        let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
        if toned_width(&line) <= width && all.trim_end() == words {
            return vec![line];
        }
        fit::wrap(&words, width)
            .into_iter()
            .map(|line| vec![(Tone::Plain, line)])
            .collect()
    });
    lines.filter(|line| toned_width(line) > 0).collect()
}

/// Where the terminal's cursor stands: where the next letter goes, else at the start of the row that is
/// chosen, else at the top of the pane.
#[must_use]
pub fn cursor(state: &State, areas: &Areas, buffer: &mut Buffer) -> Position {
    let typed = typed(state, buffer);
    let listed = matches!(&state.overlay, Some(Overlay::Palette(open)) if open.chosen.is_some());
    if let Some(at) = typed.filter(|_| !listed) {
        return at;
    }
    let body = areas.body(state.focus);
    let chosen = |y: &u16| {
        (body.left()..body.right()).any(|x| buffer[(x, *y)].modifier.contains(Modifier::REVERSED))
    };
    let row = (body.top()..body.bottom())
        .find(chosen)
        .unwrap_or(body.top());
    let text = (body.left()..body.right()).find(|x| buffer[(*x, row)].symbol() != " ");
    Position::new(text.unwrap_or(body.left()), row)
}

/// Where something is typed; the mark there is taken away, since the cursor stands for it.
fn typed(state: &State, buffer: &mut Buffer) -> Option<Position> {
    if !matches!(
        state.overlay,
        Some(Overlay::Prompt(_) | Overlay::Palette(_))
    ) {
        return None;
    }
    let Rect { width, height, .. } = buffer.area;
    let mut cells = (0..height)
        .rev()
        .flat_map(|y| (0..width).map(move |x| (x, y)));
    let at = cells.find(|at| buffer[*at].symbol() == TYPED)?;
    buffer[at].set_symbol(" ");
    Some(at.into())
}
