//! A patch for `git apply`: one file's or everything's, and never one that leaves something out
//! without saying so.

use super::model::{Diff, FileChange, PatchOptions, Status};
use super::open::Review;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::Watch;
use crate::text::visible_bytes;

impl Review {
    /// Gives the patch of `diff.files[file]`, of every file without `file`, to `take`, a file at a
    /// time.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafeContent`] when a file's change cannot be in it; those of
    /// [`Review::blocking_patch_text`] and of `take`.
    pub fn blocking_whole_patch(
        &self,
        diff: &Diff,
        file: Option<usize>,
        watch: &Watch,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let wanted = match file {
            Some(file) => file..file + 1,
            None => 0..diff.files.len(),
        };
        for index in wanted {
            watch.check()?;
            let Some(change) = diff.files.get(index) else {
                return fail(ErrorKind::Usage, "There is no such file in the diff");
            };
            match &change.opaque {
                Some(_) if is_in_no_patch(change) && file.is_none() => {}
                Some(why) => {
                    return Err(Error::new(
                        ErrorKind::UnsafeContent,
                        format!(
                            "The patch would be incomplete: {}: {why}",
                            visible_bytes(&change.path)
                        ),
                    )
                    .hint("`afterrun restore` brings the files themselves"));
                }
                None => {
                    let options = PatchOptions::default();
                    take(&self.blocking_patch_text(diff, index, options, watch)?)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether it is what only the index or a submodule's inside says.
fn is_in_no_patch(change: &FileChange) -> bool {
    matches!(change.status, Status::Submodule | Status::Conflicted) || change.path.ends_with(b"/")
}
