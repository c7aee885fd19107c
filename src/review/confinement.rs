//! What the kernel holds the review worker to, and what it found that it could still do.

use serde::{Deserialize, Serialize};

/// How far a rule is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// All that was asked for.
    Fully,
    /// As far as an older kernel knows it.
    Partly,
    /// Not at all.
    #[default]
    Not,
}

/// What the review worker is held to. It says so itself, before it reads a byte of the agent's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Landlock: no file but those of the private folder can be opened, none written or executed, no
    /// TCP port reached, no process outside signalled.
    pub landlock: Held,
    /// seccomp: no socket, no other process, no system call but those that reading and comparing
    /// need.
    pub calls: bool,
    /// Limits on address space, CPU time, descriptors, and no byte written to a file.
    pub limits: bool,
}

impl Confinement {
    /// What is missing to full confinement, in words; `None` when nothing is.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let landlock = match self.landlock {
            Held::Fully => None,
            Held::Partly => Some("this kernel knows only a part of Landlock"),
            Held::Not => Some("this system has no Landlock"),
        };
        let calls = (!self.calls).then_some("no filter of system calls");
        let limits = (!self.limits).then_some("some limits do not hold");
        let missing: Vec<&str> = [landlock, calls, limits].into_iter().flatten().collect();
        (!missing.is_empty()).then(|| missing.join("; "))
    }
}

/// Something that the worker could do though it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Escape {
    /// It read a file outside its folder.
    Read,
    /// It listed a folder outside its own.
    List,
    /// It made a file.
    Write,
    /// It had a socket.
    Connect,
    /// It started a program.
    Execute,
}

impl std::fmt::Display for Escape {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Read => "read a file outside",
            Self::List => "list a folder outside",
            Self::Write => "make a file",
            Self::Connect => "open a socket",
            Self::Execute => "start a program",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let full = Confinement {
            landlock: Held::Fully,
            calls: true,
            limits: true,
        };
        assert_eq!(full.missing(), None);
        let old = Confinement {
            landlock: Held::Partly,
            ..full
        };
        assert_eq!(
            old.missing().as_deref(),
            Some("this kernel knows only a part of Landlock")
        );
        let none = Confinement::default().missing().expect("named");
        assert_eq!(
            none,
            "this system has no Landlock; no filter of system calls; some limits do not hold"
        );
    }
}
