//! From two directories to an archive, in the very form that Agno's capture writes (Python's
//! `tarfile` in pax format): a plain capture of the same tree has the same bytes.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::CheckpointArchive;
use super::framing::{BLOCK, DIRECTORY, PAX, REGULAR, SYMLINK};
use super::links::{Graph, MANIFEST, Node, ROOTS, check_graph, check_link, check_name};
use crate::checkpoint::{CheckpointLimits, blocking, open_regular};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::json::Json;
use crate::progress::{Stage, Watch};
use crate::text::python_repr;

/// tarfile fills its output up to whole records of 20 blocks.
const RECORD: u64 = 20 * BLOCK;
/// Agno's gzip level: within 5% of level 6 for 44% of its time.
const LEVEL: u32 = 4;
const NAME_FIELD: usize = 100;

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
        let manifest = manifest(state, exclude)?;
        if manifest.len() as u64 > self.limits.max_manifest_bytes {
            return fail(ErrorKind::Limit, "Checkpoint manifest exceeds its limit");
        }
        super::restore::refuse_existing(destination)?;
        let roots = real_roots(roots, destination)?;
        let excluded = ExcludedFiles::collect(&roots, exclude)?;
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(destination)
            .map_err(|error| Error::io("write", destination, error))?;
        let answer = self
            .write_all(file, &roots, &manifest, &excluded, destination, watch)
            .and_then(|()| self.check_stored_size(destination));
        if answer.is_err() {
            let _ = std::fs::remove_file(destination);
        }
        answer
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

    fn check_stored_size(&self, destination: &Path) -> Result<()> {
        let entry = std::fs::metadata(destination)
            .map_err(|error| Error::io("read", destination, error))?;
        if entry.len() > self.limits.max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint archive exceeds its limit");
        }
        Ok(())
    }

    fn write_all(
        &self,
        file: File,
        roots: &[PathBuf; 2],
        manifest: &[u8],
        excluded: &ExcludedFiles,
        destination: &Path,
        watch: &Watch,
    ) -> Result<()> {
        let output = std::io::BufWriter::with_capacity(1 << 18, file);
        let encoder = if self.compress {
            // No name and no time, so that one unchanged tree is one object every turn.
            let gzip = flate2::GzBuilder::new()
                .mtime(0)
                .operating_system(255)
                .write(output, flate2::Compression::new(LEVEL));
            Encoder::Gzip(Box::new(gzip))
        } else {
            Encoder::Plain(output)
        };
        let mut writer = Writer {
            out: Tell {
                encoder,
                told: 0,
                destination,
            },
            limits: self.limits,
            excluded,
            count: 1,
            size: manifest.len() as u64,
            links: Vec::new(),
            watch,
        };
        writer.header(MANIFEST, REGULAR, 0o600, manifest.len() as u64, None, b"")?;
        writer.data(manifest)?;
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
        let entry = std::fs::symlink_metadata(path);
        match (entry, std::fs::canonicalize(path)) {
            (Ok(entry), Ok(real)) if entry.is_dir() => Ok(real),
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

/// Exclusions, and the inodes behind them: a hard link is a second name for the same bytes.
struct ExcludedFiles {
    paths: Vec<Vec<u8>>,
    inodes: HashMap<(u64, u64), Vec<u8>>,
}

impl ExcludedFiles {
    fn collect(roots: &[PathBuf; 2], exclude: &[Vec<u8>]) -> Result<Self> {
        let mut found = Self {
            paths: exclude.to_vec(),
            inodes: HashMap::new(),
        };
        found.paths.sort();
        for item in found.paths.clone() {
            let cut = item.iter().position(|b| *b == b'/').unwrap_or(item.len());
            let root = &roots[usize::from(&item[..cut] == ROOTS[1])];
            let rest = std::ffi::OsStr::from_bytes(item.get(cut + 1..).unwrap_or_default());
            let path = root.join(rest);
            match std::fs::canonicalize(&path) {
                Ok(real) if real.starts_with(root) => found.walk(&path, &item)?,
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) =>
                {
                    return fail(
                        ErrorKind::UnsafeContent,
                        "Checkpoint contains a symlink cycle or an unfollowable chain",
                    );
                }
                // A path that leads outside, or to nothing, excludes no bytes inside.
                _ => {}
            }
        }
        Ok(found)
    }

    fn walk(&mut self, path: &Path, name: &[u8]) -> Result<()> {
        let entry = lstat(path)?;
        if entry.is_dir() {
            for child in children(path)? {
                self.walk(&path.join(&child), &[name, b"/", child.as_bytes()].concat())?;
            }
        } else if entry.is_file() && entry.nlink() > 1 {
            self.inodes
                .entry((entry.dev(), entry.ino()))
                .or_insert_with(|| name.to_vec());
        }
        Ok(())
    }

    fn covers(&self, name: &[u8]) -> bool {
        self.paths.iter().any(|item| {
            name.strip_prefix(&item[..])
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        })
    }
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

enum Encoder {
    Gzip(Box<flate2::write::GzEncoder<std::io::BufWriter<File>>>),
    Plain(std::io::BufWriter<File>),
}

/// Counts archive bytes on their way into the encoder.
struct Tell<'a> {
    encoder: Encoder,
    told: u64,
    destination: &'a Path,
}

impl Tell<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.told += bytes.len() as u64;
        match &mut self.encoder {
            Encoder::Gzip(out) => out.write_all(bytes),
            Encoder::Plain(out) => out.write_all(bytes),
        }
        .map_err(|error| Error::io("write", self.destination, error))
    }

    fn zeros(&mut self, count: u64) -> Result<()> {
        self.write(&vec![0; usize::try_from(count).unwrap_or(0)])
    }

    fn finish(self) -> Result<()> {
        let file = match self.encoder {
            Encoder::Gzip(out) => out.finish(),
            Encoder::Plain(out) => Ok(out),
        };
        file.and_then(|mut file| file.flush())
            .map_err(|error| Error::io("write", self.destination, error))
    }
}

struct Writer<'a> {
    out: Tell<'a>,
    limits: CheckpointLimits,
    excluded: &'a ExcludedFiles,
    count: u64,
    size: u64,
    links: Vec<(Vec<u8>, Vec<u8>)>,
    watch: &'a Watch,
}

impl Writer<'_> {
    fn add(&mut self, path: &Path, name: &[u8]) -> Result<()> {
        if self.excluded.covers(name) {
            return Ok(());
        }
        self.watch.check()?;
        check_name(name).map_err(unsafe_content)?;
        self.count += 1;
        if self.count > self.limits.max_entries {
            return fail(ErrorKind::Limit, "Checkpoint has too many entries");
        }
        let entry = lstat(path)?;
        let mode = entry.mode() & 0o777;
        if entry.is_dir() {
            let slashed = [name, b"/"].concat();
            self.header(&slashed, DIRECTORY, mode, 0, Some(&entry), b"")?;
            for child in children(path)? {
                self.add(&path.join(&child), &[name, b"/", child.as_bytes()].concat())?;
            }
        } else if entry.is_symlink() {
            let target = std::fs::read_link(path)
                .map_err(|error| Error::io("read", path, error))?
                .into_os_string()
                .into_vec();
            check_link(name, &target).map_err(unsafe_content)?;
            self.header(name, SYMLINK, mode, 0, Some(&entry), &target)?;
            self.links.push((name.to_vec(), target));
        } else if entry.is_file() {
            self.file(path, name, &entry)?;
        } else {
            return fail(
                ErrorKind::UnsafeContent,
                format!(
                    "Checkpoint contains an unsupported file type at {}; exclude it before capture",
                    python_repr(name)
                ),
            );
        }
        self.check_length()
    }

    fn check_length(&self) -> Result<()> {
        if self.out.told > self.limits.max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint archive exceeds its limit");
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &[u8], entry: &Metadata) -> Result<()> {
        if let Some(alias) = self.excluded.inodes.get(&(entry.dev(), entry.ino())) {
            return fail(
                ErrorKind::UnsafeContent,
                format!(
                    "Checkpoint entry {} is a hardlink to excluded {}",
                    python_repr(name),
                    python_repr(alias)
                ),
            );
        }
        self.size += entry.len();
        if self.size > self.limits.max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint data exceeds its limit");
        }
        let changed = || {
            fail(
                ErrorKind::UnsafeContent,
                "Workspace changed during checkpoint capture",
            )
        };
        let same = |a: &Metadata, b: &Metadata| {
            (a.ino(), a.dev(), a.len(), a.mtime(), a.mtime_nsec())
                == (b.ino(), b.dev(), b.len(), b.mtime(), b.mtime_nsec())
        };
        let source = open_regular(path)?;
        let failed = |error| Error::io("read", path, error);
        if !same(&source.metadata().map_err(failed)?, entry) {
            return changed();
        }
        self.header(
            name,
            REGULAR,
            entry.mode() & 0o777,
            entry.len(),
            Some(entry),
            b"",
        )?;
        let mut left = entry.len();
        let mut piece = vec![0; 1 << 18];
        while left > 0 {
            self.watch.check()?;
            let want = left.min(piece.len() as u64) as usize;
            let count = (&source).read(&mut piece[..want]).map_err(failed)?;
            if count == 0 {
                return changed();
            }
            self.out.write(&piece[..count])?;
            left -= count as u64;
            self.watch.at(Stage::Archive, self.out.told, 0);
        }
        self.pad(entry.len())?;
        if !same(&source.metadata().map_err(failed)?, entry) {
            return changed();
        }
        Ok(())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write(bytes)?;
        self.pad(bytes.len() as u64)
    }

    fn pad(&mut self, size: u64) -> Result<()> {
        self.out.zeros(size.next_multiple_of(BLOCK) - size)
    }

    /// One member's header, with a pax header before it for what ustar cannot hold.
    fn header(
        &mut self,
        name: &[u8],
        kind: u8,
        mode: u32,
        size: u64,
        entry: Option<&Metadata>,
        link: &[u8],
    ) -> Result<()> {
        let mut records: Vec<(&[u8], Vec<u8>)> = Vec::new();
        for (key, value) in [(&b"path"[..], name), (b"linkpath", link)] {
            if !value.is_ascii() || value.len() > NAME_FIELD {
                records.push((key, value.to_vec()));
            }
        }
        let mut whole = 0;
        if let Some(entry) = entry {
            // Agno's times are doubles; the same one is written, so that both restore alike.
            let time = entry.mtime() as f64 + 1e-9 * entry.mtime_nsec() as f64;
            let truncated = time.trunc();
            if (0.0..8_f64.powi(11)).contains(&truncated) {
                whole = truncated as u64;
            }
            records.push((b"mtime", format!("{time:?}").into_bytes()));
        }
        if size >= 1 << 33 {
            records.push((b"size", size.to_string().into_bytes()));
        }
        if !records.is_empty() {
            let mut payload = Vec::new();
            if records
                .iter()
                .any(|(_, value)| std::str::from_utf8(value).is_err())
            {
                payload.extend(pax_record(b"hdrcharset", b"BINARY"));
            }
            for (key, value) in &records {
                payload.extend(pax_record(key, value));
            }
            self.block(b"././@PaxHeader", PAX, 0, payload.len() as u64, 0, b"")?;
            self.data(&payload)?;
        }
        self.block(name, kind, mode, size, whole, link)
    }

    fn block(
        &mut self,
        name: &[u8],
        kind: u8,
        mode: u32,
        size: u64,
        mtime: u64,
        link: &[u8],
    ) -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(if size < 1 << 33 { size } else { 0 });
        header.set_mtime(mtime);
        // Names as bytes: the crate's setters refuse what a checkpoint may hold.
        for (value, start) in [(name, 0), (link, 157)] {
            let value = ascii(value);
            let length = value.len().min(NAME_FIELD);
            header.as_mut_bytes()[start..start + length].copy_from_slice(&value[..length]);
        }
        header.set_cksum();
        self.out.write(header.as_bytes())
    }

    fn finish(mut self) -> Result<()> {
        let mut graph = Graph::default();
        for (name, target) in &self.links {
            graph.insert(name, Node::Link(target));
        }
        check_graph(&graph).map_err(unsafe_content)?;
        self.out.zeros(2 * BLOCK)?;
        let told = self.out.told;
        self.out.zeros(told.next_multiple_of(RECORD) - told)?;
        self.check_length()?;
        self.out.finish()
    }
}

/// What makes an archive invalid when it is read makes the files unsafe when it is written.
#[allow(clippy::needless_pass_by_value)] // it is an argument of map_err
fn unsafe_content(error: Error) -> Error {
    Error::new(ErrorKind::UnsafeContent, error.message())
}

/// A name as Python's ASCII encoder replaces it: one `?` for each character that is not.
fn ascii(name: &[u8]) -> Vec<u8> {
    name.utf8_chunks()
        .flat_map(|chunk| {
            let valid = chunk.valid().chars().map(|c| u8::try_from(c).ok());
            let valid = valid.map(|c| c.filter(u8::is_ascii).unwrap_or(b'?'));
            valid.chain(chunk.invalid().iter().map(|_| b'?'))
        })
        .collect()
}

/// One pax record; its length counts itself.
pub(super) fn pax_record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest;
    loop {
        let next = rest + length.to_string().len();
        if next == length {
            break;
        }
        length = next;
    }
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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
