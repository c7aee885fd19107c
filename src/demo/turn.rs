//! One exchange of a script, and how it ended: the seven statuses, and what may become of a
//! checkpoint after its turn.

use super::steps::Step;

/// What was asked, done and answered.
pub(super) struct Turn {
    pub(super) input: &'static str,
    pub(super) answer: &'static str,
    pub(super) steps: Vec<Step>,
    pub(super) end: End,
}

/// How a turn ended, and what became of its checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Completed,
    /// Completed; a later answer took its place.
    Regenerated,
    /// Completed; retention deleted the object since.
    Pruned,
    /// Completed; the stored bytes changed since.
    Corrupted,
    /// Completed on the host, without a sandbox.
    Host,
    /// Stopped, and the workspace rolled back; the answer is the reason.
    Error,
    /// The same, on request.
    Cancelled,
    Paused,
    Running,
    Pending,
    /// Completed, but its `run_data` was cut off.
    Damaged,
}

impl End {
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Completed | Self::Pruned | Self::Corrupted | Self::Host | Self::Damaged => {
                "COMPLETED"
            }
            Self::Regenerated => "REGENERATED",
            Self::Error => "ERROR",
            Self::Cancelled => "CANCELLED",
            Self::Paused => "PAUSED",
            Self::Running => "RUNNING",
            Self::Pending => "PENDING",
        }
    }

    /// Whether a checkpoint was committed.
    pub(super) fn commits(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Regenerated | Self::Pruned | Self::Corrupted
        )
    }
}

/// A completed turn.
pub(super) fn turn(input: &'static str, answer: &'static str, steps: Vec<Step>) -> Turn {
    ending(End::Completed, input, answer, steps)
}

/// A turn that ended otherwise.
pub(super) fn ending(
    end: End,
    input: &'static str,
    answer: &'static str,
    steps: Vec<Step>,
) -> Turn {
    Turn {
        input,
        answer,
        steps,
        end,
    }
}
