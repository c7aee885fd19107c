//! Where a copied text goes that the terminal's clipboard does not take: a new file that only its user
//! can read.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::new_file::{NewFile, PRIVATE};
use crate::text::visible_path;
use crate::{Error, Result};

/// Writes `text` to a new file and answers its path, made visible.
pub(super) fn keep(text: &str) -> Result<String> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = runtime.filter(|folder| folder.is_absolute() && folder.is_dir());
    keep_in(&folder.unwrap_or_else(std::env::temp_dir), text).map(|path| visible_path(&path))
}

fn keep_in(folder: &Path, text: &str) -> Result<PathBuf> {
    let failed = |error| Error::io("write in", folder, error);
    let patch = ["diff --git ", "--- "]
        .iter()
        .any(|start| text.starts_with(start));
    let mut file = NewFile::within(folder, PRIVATE).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let named = tempfile::Builder::new()
        .prefix("afterrun-copy-")
        .suffix(if patch { ".patch" } else { ".txt" })
        .disable_cleanup(true)
        .make_in(folder, |path| file.publish(path))
        .map_err(failed)?;
    Ok(named.path().to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn is_private_and_named_for_what_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, end) in [("a command", ".txt"), ("diff --git a/x b/x\n", ".patch")] {
            let path = keep_in(folder.path(), text).expect("written");
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.expect("UTF-8");
            assert!(
                name.starts_with("afterrun-copy-") && name.ends_with(end),
                "{name}"
            );
            assert_eq!(std::fs::read_to_string(&path).expect("read"), text);
            let mode = path.metadata().expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(keep_in(&folder.path().join("nowhere"), "x").is_err());
    }
}
