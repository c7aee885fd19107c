//! The one table of what our signs mean, for the help and the page of keys.

/// Signs of the rows, and what each says.
pub const SIGNS: &[(&str, &str)] = &[
    ("✔", "a run that is COMPLETED; a step that passed"),
    ("✖", "a run that ended in ERROR; a step that failed"),
    ("▶", "a run that is RUNNING"),
    ("◌", "a run that is PENDING"),
    ("‖", "a run that is PAUSED"),
    ("⊘", "a run that is CANCELLED"),
    ("↻", "a run that is REGENERATED: another took its place"),
    (
        "!",
        "notice: something that is worth a look, or a row that is damaged",
    ),
    ("●", "the run that is open"),
    ("*", "marked: a run to compare, a file to restore"),
    (
        "◆",
        "new: it came in while the list stood there; until it is chosen, or for a minute",
    ),
    (
        "⧗",
        "retention: the session's next completed turn deletes this checkpoint",
    ),
    (
        "~ prev",
        "lines were counted against another base than the one that is asked for now: prev, head, pin, run, empty, or ~ where no word has room",
    ),
    ("A", "file: added"),
    ("M", "file: modified"),
    ("D", "file: deleted"),
    ("R", "file: renamed"),
    ("T", "file: its type changed"),
    ("m", "file: its mode changed"),
    ("?", "file: untracked; run: its status is not known"),
    ("S", "file: a submodule"),
    ("U", "file: conflicted"),
    ("✓", "a changed file that is viewed, so ticked off"),
    ("▸", "folded"),
    ("▾", "unfolded"),
    ("…", "at work; at the end of a text: there is more of it"),
];
