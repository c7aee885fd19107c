//! The lines of Info as blocks, borrowed where a job made them, and which of them unfold something.

use super::content::PatchRow;
use crate::tui::theme::Toned;

/// What a line of Info holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Its name, the same in every frame.
    pub name: String,
    /// 0 for a section, more for what is in one.
    pub level: u8,
    /// Whether what it holds is shown.
    pub open: bool,
}

/// A line said in Info, and what it holds.
#[derive(Debug, Default)]
pub struct InfoLine {
    /// What it says.
    pub line: Toned,
    /// What it unfolds.
    pub fold: Option<Fold>,
}

/// Lines of Info of one kind.
#[derive(Debug)]
pub enum Block<'a> {
    /// Said, and wrapped to the pane.
    Said(Vec<InfoLine>),
    /// A commit's changes, with the digits of their line numbers.
    Rows(&'a [PatchRow], usize),
    /// Lines made by a job.
    Made(&'a [Toned]),
}

impl Block<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Said(lines) => lines.len(),
            Self::Rows(rows, _) => rows.len(),
            Self::Made(lines) => lines.len(),
        }
    }
}

/// The lines of Info.
#[derive(Debug, Default)]
pub struct Info<'a> {
    blocks: Vec<Block<'a>>,
    /// The line after each block.
    ends: Vec<usize>,
}

impl<'a> Info<'a> {
    /// Adds a block.
    pub fn push(&mut self, block: Block<'a>) {
        if block.len() > 0 {
            self.ends.push(self.len() + block.len());
            self.blocks.push(block);
        }
    }

    /// Adds what was said, and empties it; whether there is anything so far.
    pub fn push_said(&mut self, said: &mut Vec<InfoLine>) -> bool {
        self.push(Block::Said(std::mem::take(said)));
        self.len() > 0
    }

    pub(super) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The block of a line, and the line's place in it.
    pub(super) fn at(&self, index: usize) -> Option<(&Block<'a>, usize)> {
        let block = self.ends.partition_point(|end| *end <= index);
        let start = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((self.blocks.get(block)?, index - start))
    }

    /// What a line unfolds.
    #[must_use]
    pub fn fold(&self, index: usize) -> Option<&Fold> {
        match self.at(index)? {
            (Block::Said(lines), at) => lines.get(at)?.fold.as_ref(),
            _ => None,
        }
    }

    /// The nearest line above `index`, or that very line, that unfolds something.
    #[must_use]
    pub fn header(&self, index: usize) -> Option<usize> {
        self.folds()
            .take_while(|(line, _)| *line <= index)
            .last()
            .map(|(line, _)| line)
    }

    /// The line that unfolds `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.folds()
            .find(|(_, fold)| fold.name == name)
            .map(|(line, _)| line)
    }

    /// Every line that unfolds something; hunks, which are many, are passed over as blocks.
    pub fn folds(&self) -> impl Iterator<Item = (usize, &Fold)> {
        self.blocks
            .iter()
            .zip(&self.ends)
            .filter_map(|(block, end)| match block {
                Block::Said(lines) => Some((lines, end - lines.len())),
                _ => None,
            })
            .flat_map(|(lines, start)| {
                let lines = lines.iter().enumerate();
                lines.filter_map(move |(at, line)| Some((start + at, line.fold.as_ref()?)))
            })
    }
}
