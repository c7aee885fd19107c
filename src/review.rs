//! ⑤ the checkout that an archive holds, and how it differs from where it started.
//!
//! Nothing of the workspace is written to look at it. `workspace/repository` is a virtual working
//! tree whose contents come from the archive's spool; only git's object files go to a private
//! directory, for libgit2 to read as the objects of a repository of our own, in a child process
//! that can be killed ([`init`]). The checkout's config, hooks, alternates, index and drivers are
//! never given to libgit2. File content decides what changed; the agent's index only adds.

pub(crate) mod attributes;
mod base;
mod change;
mod checkout;
mod commit;
mod compare;
mod confinement;
mod diff;
pub(crate) mod id;
pub(crate) mod ignore;
pub(crate) mod index;
mod limits;
mod model;
mod notices;
pub(crate) mod objects;
mod open;
mod process;
pub(crate) mod protocol;
mod received;
pub(crate) mod refs;
mod remarks;
mod scan;
mod sent;
mod session;
mod sides;
mod sparse;
pub(crate) mod tree;
mod whole;
pub(crate) mod worker;

pub use confinement::{Confinement, Escape, Held};
pub use model::{
    Base, BaseChoice, Commit, CommitDiff, Diff, FileChange, FilePatch, Hunk, Line, LineKind,
    Notice, Parent, PatchOptions, Stash, Status,
};
pub use open::Review;
pub use process::{WorkerCheck, check_worker, init, use_worker};
