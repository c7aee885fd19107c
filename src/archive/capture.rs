//! From two directories to an archive, in the very form that Agno's capture writes (Python's
//! `tarfile` in pax format): a plain capture of the same tree has the same bytes.

mod excluded;
mod writer;

use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::excluded::ExcludedFiles;
use self::writer::{Tell, Writer};
use super::CheckpointArchive;
use super::links::{MANIFEST, ROOTS, check_name};
use crate::checkpoint::blocking;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::json::Json;
use crate::new_file::{NewFile, SHARED};
use crate::progress::Watch;
use crate::scratch::Share;

#[cfg(test)]
pub(super) use self::writer::pax_record;

/// Credential files that Agno's sandboxes leave out of every capture.
pub const DEFAULT_NATIVE_EXCLUSIONS: [&[u8]; 2] = [
    b"native/codex/auth.json",
    b"native/.claude/.credentials.json",
];

/// The two directories of a capture.
#[derive(Clone, Debug)]
pub struct CaptureRoots {
    /// The agent's working directory.
    pub workspace: PathBuf,
    /// The harness home.
    pub native: PathBuf,
}

impl CheckpointArchive {
    /// Captures `roots` into the new file `destination` (Agno's `capture`). `exclude` names paths
    /// in the archive's terms, e.g. `native/codex/auth.json`; `state` is a JSON object.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafeContent`] when the files cannot be checkpointed as they stand,
    /// [`ErrorKind::Limit`], [`ErrorKind::Usage`] for exclusions that name a root; nothing is left
    /// at `destination`.
    pub fn blocking_capture(
        &self,
        roots: &CaptureRoots,
        destination: &Path,
        state: &Json,
        exclude: &[Vec<u8>],
        watch: &Watch,
    ) -> Result<()> {
        self.write(roots, destination, state, exclude, watch, None)
    }

    fn write(
        &self,
        roots: &CaptureRoots,
        destination: &Path,
        state: &Json,
        exclude: &[Vec<u8>],
        watch: &Watch,
        share: Option<&mut Share>,
    ) -> Result<()> {
        let manifest = manifest(state, exclude)?;
        if manifest.len() as u64 > self.limits.max_manifest_bytes {
            return fail(ErrorKind::Limit, "Checkpoint manifest exceeds its limit");
        }
        super::restore::refuse_existing(destination)?;
        let roots = real_roots(roots, destination)?;
        let excluded = ExcludedFiles::collect(&roots, exclude)?;
        let failed = |error| Error::io("write", destination, error);
        let mut file = NewFile::beside(destination, SHARED).map_err(failed)?;
        let out = Tell::new(file.file(), self.compress, destination, share);
        self.write_all(out, &roots, &manifest, &excluded, watch)?;
        self.check_stored_size(file.file(), destination)?;
        file.publish(destination).map_err(|error| {
            // Whoever made it meanwhile keeps it.
            let exists = super::restore::refuse_existing(destination);
            exists.err().unwrap_or_else(|| failed(error))
        })
    }

    /// Async [`CheckpointArchive::blocking_capture`].
    ///
    /// # Errors
    /// The same.
    pub async fn capture(
        &self,
        roots: &CaptureRoots,
        destination: &Path,
        state: &Json,
        exclude: &[Vec<u8>],
        watch: &Watch,
    ) -> Result<()> {
        let (this, roots, destination) = (*self, roots.clone(), destination.to_path_buf());
        let (state, exclude, watch) = (state.clone(), exclude.to_vec(), watch.clone());
        blocking(move || this.blocking_capture(&roots, &destination, &state, &exclude, &watch))
            .await
    }

    /// [`CheckpointArchive::capture`] into a private file, which counts in `share` as long as what
    /// this answers is kept.
    ///
    /// # Errors
    /// The same, and when the file would be over the limit.
    #[cfg(feature = "app")]
    pub(crate) async fn capture_counted(
        &self,
        roots: CaptureRoots,
        destination: &Path,
        state: Json,
        exclude: Vec<Vec<u8>>,
        watch: &Watch,
        mut share: Share,
    ) -> Result<Share> {
        let (this, destination, watch) = (*self, destination.to_path_buf(), watch.clone());
        blocking(move || {
            let counted = Some(&mut share);
            this.write(&roots, &destination, &state, &exclude, &watch, counted)?;
            Ok(share)
        })
        .await
    }

    fn check_stored_size(&self, file: &File, destination: &Path) -> Result<()> {
        let entry = file
            .metadata()
            .map_err(|error| Error::io("read", destination, error))?;
        if entry.len() > self.limits.max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint archive exceeds its limit");
        }
        Ok(())
    }

    fn write_all(
        &self,
        out: Tell<'_>,
        roots: &[PathBuf; 2],
        manifest: &[u8],
        excluded: &ExcludedFiles,
        watch: &Watch,
    ) -> Result<()> {
        let mut writer = Writer::begin(out, self.limits, excluded, manifest, watch)?;
        for (name, path) in ROOTS.iter().zip(roots) {
            writer.add(path, name)?;
        }
        writer.finish()
    }
}

/// Both roots resolved, in the order of [`ROOTS`]; they are real directories, apart from each
/// other and from the destination.
fn real_roots(roots: &CaptureRoots, destination: &Path) -> Result<[PathBuf; 2]> {
    let real = |path: &Path| -> Result<PathBuf> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let entry = std::fs::symlink_metadata(path);
        match entry.and_then(|entry| Ok((entry, std::fs::canonicalize(path)?))) {
            Ok((entry, real)) if entry.is_dir() => Ok(real),
            Err(error) if !matches!(error.kind(), NotADirectory | NotFound) => {
                Err(Error::io("read", path, error))
            }
            _ => Err(Error::new(
                ErrorKind::UnsafeContent,
                "Durable roots must be real directories",
            )
            .hint(format!("{} is none", crate::text::visible_path(path)))),
        }
    };
    let real = [real(&roots.native)?, real(&roots.workspace)?];
    let folder = destination
        .parent()
        .filter(|path| !path.as_os_str().is_empty());
    let folder = std::fs::canonicalize(folder.unwrap_or(Path::new(".")))
        .map_err(|error| Error::io("write", destination, error))?;
    if real.iter().any(|root| folder.starts_with(root)) {
        return fail(
            ErrorKind::UnsafeContent,
            "Checkpoint destination cannot be inside a captured root",
        );
    }
    if real[0].starts_with(&real[1]) || real[1].starts_with(&real[0]) {
        return fail(ErrorKind::UnsafeContent, "Durable roots must not overlap");
    }
    Ok(real)
}

/// The manifest as Python's `json.dumps` writes it.
fn manifest(state: &Json, exclude: &[Vec<u8>]) -> Result<Vec<u8>> {
    for path in exclude {
        check_name(path)?;
        if path == MANIFEST || ROOTS.contains(&&path[..]) {
            return fail(
                ErrorKind::Usage,
                "Cannot exclude a manifest or entire durable root",
            );
        }
    }
    if !matches!(state, Json::Object(_)) {
        return fail(ErrorKind::Usage, "The state must be a JSON object");
    }
    let mut excluded: Vec<Json> = Vec::new();
    let mut sorted = exclude.to_vec();
    sorted.sort();
    sorted.dedup();
    for path in sorted {
        match String::from_utf8(path) {
            Ok(text) => excluded.push(Json::Text(text)),
            Err(_) => return fail(ErrorKind::Usage, "An excluded path must be UTF-8"),
        }
    }
    let manifest = Json::Object(vec![
        ("version".into(), Json::Int("1".into())),
        ("state".into(), state.clone()),
        ("excluded".into(), Json::List(excluded)),
    ]);
    let text = manifest.to_python().ok_or_else(|| {
        Error::new(
            ErrorKind::Usage,
            "Out of range float values are not JSON compliant",
        )
    })?;
    Ok(text.into_bytes())
}

fn lstat(path: &Path) -> Result<Metadata> {
    std::fs::symlink_metadata(path).map_err(|error| Error::io("read", path, error))
}

/// Names in a directory in Python's order: by code point, a byte that is not UTF-8 counting as
/// its surrogate.
fn children(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    let failed = |error| Error::io("read", path, error);
    let mut names = Vec::new();
    for child in std::fs::read_dir(path).map_err(failed)? {
        names.push(child.map_err(failed)?.file_name());
    }
    names.sort_by_cached_key(|name| -> Vec<u32> {
        name.as_bytes()
            .utf8_chunks()
            .flat_map(|chunk| {
                let bytes = chunk.invalid().iter().map(|b| 0xdc00 + u32::from(*b));
                chunk.valid().chars().map(u32::from).chain(bytes)
            })
            .collect()
    });
    Ok(names)
}

/// What makes an archive invalid when it is read makes the files unsafe when it is written.
#[allow(clippy::needless_pass_by_value)] // it is an argument of map_err
fn unsafe_content(error: Error) -> Error {
    Error::new(ErrorKind::UnsafeContent, error.message())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn world() -> (tempfile::TempDir, CaptureRoots) {
        let folder = tempfile::tempdir().expect("a folder");
        let roots = CaptureRoots {
            workspace: folder.path().join("w"),
            native: folder.path().join("n"),
        };
        std::fs::create_dir_all(roots.workspace.join("sub dir")).expect("made");
        std::fs::create_dir_all(&roots.native).expect("made");
        std::fs::write(roots.workspace.join("sub dir/żółw.txt"), b"text").expect("written");
        let odd = std::ffi::OsString::from_vec(b"caf\xe9".to_vec());
        std::fs::write(roots.workspace.join(odd), vec![7; 100_000]).expect("written");
        std::fs::write(roots.native.join("auth.json"), b"secret").expect("written");
        std::os::unix::fs::symlink("sub dir/żółw.txt", roots.workspace.join("link"))
            .expect("linked");
        std::os::unix::fs::symlink("/etc/hosts", roots.workspace.join("absolute")).expect("linked");
        std::fs::set_permissions(
            roots.workspace.join("sub dir"),
            std::fs::Permissions::from_mode(0o500),
        )
        .expect("set");
        (folder, roots)
    }

    fn listing(root: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        let mut pending = vec![root.to_path_buf()];
        while let Some(path) = pending.pop() {
            let entry = lstat(&path).expect("there");
            let name = path.strip_prefix(root).expect("below");
            let what = if entry.is_symlink() {
                format!("{:?}", std::fs::read_link(&path).expect("a link"))
            } else if entry.is_dir() {
                pending.extend(
                    children(&path)
                        .expect("listed")
                        .iter()
                        .map(|name| path.join(name)),
                );
                format!("{:o}", entry.mode() & 0o777)
            } else {
                format!(
                    "{:o} {:?}",
                    entry.mode() & 0o777,
                    crc32fast::hash(&std::fs::read(&path).expect("read"))
                )
            };
            lines.push(format!("{name:?} {} {what}", entry.mtime()));
        }
        lines.sort();
        lines
    }

    #[test]
    fn what_is_captured_is_restored() {
        for compress in [true, false] {
            let (folder, roots) = world();
            let (file, restored) = (
                folder.path().join("archive"),
                folder.path().join("restored"),
            );
            let archive = CheckpointArchive {
                compress,
                ..CheckpointArchive::default()
            };
            let state = Json::parse(r#"{"run_id": "ünï", "n": 1}"#).expect("JSON");
            archive
                .blocking_capture(
                    &roots,
                    &file,
                    &state,
                    &[b"native/auth.json".to_vec()],
                    &Watch::default(),
                )
                .expect("captured");
            let answer = archive
                .blocking_restore(&file, &restored, true, &Watch::default())
                .expect("restored");
            assert_eq!(answer, state);
            assert_eq!(
                listing(&restored.join("workspace")),
                listing(&roots.workspace)
            );
            assert!(!restored.join("native/auth.json").exists());
            let again = archive
                .blocking_restore(&file, &restored, true, &Watch::default())
                .expect_err("taken");
            assert_eq!(again.kind(), ErrorKind::Exists);
        }
    }

    #[test]
    fn what_cannot_be_checkpointed_leaves_no_file() {
        let (folder, roots) = world();
        let file = folder.path().join("archive");
        std::os::unix::fs::symlink("../../outside", roots.workspace.join("out")).expect("linked");
        let told = CheckpointArchive::default()
            .blocking_capture(&roots, &file, &Json::Object(vec![]), &[], &Watch::default())
            .expect_err("an escaping link");
        assert_eq!(
            told.message(),
            "Checkpoint symlink 'workspace/out' -> '../../outside' escapes its durable root; exclude it before capture"
        );
        assert!(!file.exists());
        std::fs::hard_link(
            roots.native.join("auth.json"),
            roots.workspace.join("alias"),
        )
        .expect("linked");
        let exclude = [b"native/auth.json".to_vec(), b"workspace/out".to_vec()];
        let told = CheckpointArchive::default()
            .blocking_capture(
                &roots,
                &file,
                &Json::Object(vec![]),
                &exclude,
                &Watch::default(),
            )
            .expect_err("an alias");
        assert_eq!(
            told.message(),
            "Checkpoint entry 'workspace/alias' is a hardlink to excluded 'native/auth.json'"
        );
    }
}
