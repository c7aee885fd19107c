//! Marks the letters that the filter's words are made of, in the rows that show them.

use crate::runs::RunRow;
use crate::text::visible;
use crate::tui::fit;
use crate::tui::state::{State, needle};
use crate::tui::theme::{Tone, Toned};

/// What is typed, and the memory that matching needs: made once for a frame.
pub(super) struct Marker {
    needle: Option<(needle::Needle, nucleo_matcher::Matcher)>,
}

impl Marker {
    /// A marker for what is typed.
    pub(super) fn of(text: &str) -> Self {
        let needle = needle::Needle::new(text);
        Self {
            needle: needle.map(|needle| (needle, needle::matcher())),
        }
    }

    /// Whether a word is found in `text`.
    pub(super) fn finds(&mut self, field: needle::Field, text: &str) -> bool {
        let needle = self.needle.as_mut();
        needle.is_some_and(|(needle, matcher)| needle.hits(matcher, field, text) != 0)
    }

    /// Whether every word is found in these.
    fn finds_all(&mut self, texts: &[&str]) -> bool {
        let Some((needle, matcher)) = &mut self.needle else {
            return true;
        };
        let mut hits = 0;
        for text in texts {
            hits |= needle.hits(matcher, needle::Field::Words, text);
        }
        hits == needle.all()
    }

    /// Whether the rows of `run`'s agent and session show why it is there.
    pub(super) fn is_explained(&mut self, state: &State, run: &RunRow) -> bool {
        if self.needle.is_none() {
            return true;
        }
        let agent = run.agent_id.as_deref();
        let name = state.runs.agent(agent).and_then(|one| one.name.as_deref());
        let seen = |text| visible(needle::looked_at(text));
        let (id, name) = (seen(agent.unwrap_or("")), seen(name.unwrap_or("")));
        self.finds_all(&[&id, &name, &state.runs.title(&run.session_id)])
    }

    /// Adds `text`, which is safe to show, in exactly `width` columns.
    pub(super) fn mark(
        &mut self,
        line: &mut Toned,
        tone: Tone,
        field: needle::Field,
        text: &str,
        width: usize,
    ) {
        let mut shown = fit::pad(text, width);
        let Some((needle, matcher)) = &mut self.needle else {
            line.push((tone, shown));
            return;
        };
        let letters = needle.letters(matcher, field, text);
        // Where in the text the shown characters stand; the `…` of a cut stands nowhere.
        let mut places = 0..usize::MAX;
        let mut skipped = 0;
        if fit::columns(text) > width {
            let last = shown.chars().count().saturating_sub(1);
            places = 0..last;
            // An id tells as much by its end, and that is where it matched.
            if field == needle::Field::Id && letters.last().is_some_and(|at| *at as usize >= last) {
                shown = fit::pad(&fit::clip_start(text, width), width);
                let kept = shown.trim_end_matches(' ').chars().count();
                skipped = text.chars().count() - (kept - 1).min(text.chars().count());
                places = skipped..usize::MAX;
            }
        }
        for (at, letter) in shown.chars().enumerate() {
            let place = match skipped {
                0 => at,
                skipped => (skipped + at).wrapping_sub(1),
            };
            let found = places.contains(&place) && letters.binary_search(&(place as u32)).is_ok();
            let tone = if found { Tone::Match } else { tone };
            match line.last_mut() {
                Some((last, text)) if at > 0 && *last == tone => text.push(letter),
                _ => line.push((tone, letter.to_string())),
            }
        }
    }
}
