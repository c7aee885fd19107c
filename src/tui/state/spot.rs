//! Which lines of a file stand on the screen, by their numbers and not by their place: when context
//! grows or the base changes, the same lines stand there again.

use super::rows::Place;
use super::shown::Lines;

/// A line of a file, and where it stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Its number on the old side.
    pub old: Option<u32>,
    /// Its number on the new side.
    pub new: Option<u32>,
    /// Lines between the top and it.
    pub below: usize,
}

impl Spot {
    /// The first numbered line from `line` on.
    fn of(shown: &Lines<'_>, line: usize) -> Option<Self> {
        let numbered = (line..shown.len()).find_map(|at| Some((at, shown.numbers(at)?)));
        numbered.map(|(at, (old, new))| Self {
            old,
            new,
            below: at - line,
        })
    }

    /// Where the line stands now, or else the next one that is there.
    fn find(&self, shown: &Lines<'_>) -> Option<usize> {
        let number = |at: usize| -> Option<u32> {
            let (old, new) = shown.numbers(at)?;
            if self.new.is_some() { new } else { old }
        };
        let wanted = self.new.or(self.old)?;
        let mut last = None;
        for at in 0..shown.len() {
            if let Some(number) = number(at) {
                last = Some(at);
                if number >= wanted {
                    break;
                }
            }
        }
        last
    }
}

/// What of a file's diff stood on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The file.
    pub path: Vec<u8>,
    /// The line at the top; none when that was the file's name.
    pub top: Option<Spot>,
    /// A line of the hunk that was gone to.
    pub hunk: Option<Spot>,
}

impl Kept {
    /// What stands there now.
    #[must_use]
    pub fn of(path: Vec<u8>, shown: &Lines<'_>, top: Place, hunk: Option<usize>) -> Self {
        Self {
            path,
            top: (top.line > 0).then(|| Spot::of(shown, top.line)).flatten(),
            hunk: hunk.and_then(|line| Spot::of(shown, line)),
        }
    }

    /// The line to put at the top.
    #[must_use]
    pub fn line(&self, shown: &Lines<'_>) -> Option<usize> {
        let top = self.top.as_ref()?;
        Some(top.find(shown)?.saturating_sub(top.below))
    }

    /// The header of the hunk that was gone to.
    #[must_use]
    pub fn header(&self, shown: &Lines<'_>) -> Option<usize> {
        let at = self.hunk.as_ref()?.find(shown)?;
        (0..=at).rev().find(|line| shown.is_hunk(*line))
    }
}
