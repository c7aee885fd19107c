//! What an agent does in a turn. A step is carried out on the computer and told in the transcript,
//! from one description, so that a hunk and the words about it never disagree.

use super::files::Files;
use super::git::{CHECKOUT, Checkout};
use crate::error::{ErrorKind, Result, fail};

/// One thing the agent does; paths are relative to where it works.
pub(super) enum Step {
    /// It says something.
    Say(&'static str),
    /// It reads a file.
    Read(&'static str),
    /// It replaces one passage of a file.
    Edit {
        path: &'static str,
        old: &'static str,
        new: &'static str,
    },
    /// It writes a new file.
    Write {
        path: &'static str,
        text: &'static str,
    },
    /// It runs a shell command.
    Shell {
        command: &'static str,
        output: &'static str,
        effect: fn(&mut Computer) -> Result<()>,
    },
}

/// A command that changes nothing.
pub(super) fn look(command: &'static str, output: &'static str) -> Step {
    Step::Shell {
        command,
        output,
        effect: |_| Ok(()),
    }
}

/// A command and what it does to the computer.
pub(super) fn shell(
    command: &'static str,
    output: &'static str,
    effect: fn(&mut Computer) -> Result<()>,
) -> Step {
    Step::Shell {
        command,
        output,
        effect,
    }
}

pub(super) fn edit(path: &'static str, old: &'static str, new: &'static str) -> Step {
    Step::Edit { path, old, new }
}

/// The sandbox of one session: its files and, for an agent with a repository, the checkout.
pub(super) struct Computer {
    pub(super) files: Files,
    pub(super) checkout: Option<Checkout>,
}

/// A step as it was told, with what came back.
pub(super) struct Told<'a> {
    pub(super) step: &'a Step,
    pub(super) result: String,
    pub(super) at: i64,
}

impl Computer {
    fn folder(&self) -> &'static str {
        match self.checkout {
            Some(_) => CHECKOUT,
            None => "workspace",
        }
    }

    /// Where the agent works, as it calls it itself.
    pub(super) fn cwd(&self) -> String {
        format!("/{}", self.folder())
    }

    /// A path of the agent's among the computer's files.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.folder())
    }

    pub(super) fn write(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        let path = self.at(path);
        self.files.write(&path, bytes);
    }

    /// Replaces one passage; fails when the script is wrong about what was there.
    pub(super) fn replace(&mut self, path: &str, old: &str, new: &str) -> Result<()> {
        let path = self.at(path);
        let before = self.files.text(&path)?;
        if before.matches(old).count() != 1 {
            return fail(
                ErrorKind::NotFound,
                format!("the demo's script replaces what is not once in {path}"),
            );
        }
        self.files.write(&path, before.replacen(old, new, 1));
        Ok(())
    }

    /// `git add` of these paths; where a file is gone, its removal.
    pub(super) fn stage(&mut self, paths: &[&str]) -> Result<()> {
        if let Some(checkout) = &mut self.checkout {
            for path in paths {
                checkout.add(&mut self.files, path)?;
            }
        }
        Ok(())
    }

    /// Carries the steps out, a few seconds each.
    pub(super) fn carry_out<'a>(&mut self, steps: &'a [Step]) -> Result<Vec<Told<'a>>> {
        let mut told = Vec::new();
        for step in steps {
            let at = self.files.clock() + 7;
            self.files.set_clock(at);
            let result = match step {
                Step::Say(_) => String::new(),
                Step::Read(path) => self.files.text(&self.at(path))?,
                Step::Edit { path, old, new } => {
                    self.replace(path, old, new)?;
                    format!("The file {}/{path} has been updated.", self.cwd())
                }
                Step::Write { path, text } => {
                    self.write(path, *text);
                    format!("File created successfully at: {}/{path}", self.cwd())
                }
                Step::Shell { output, effect, .. } => {
                    effect(self)?;
                    (*output).to_owned()
                }
            };
            told.push(Told { step, result, at });
        }
        Ok(told)
    }
}
