//! Members in the very form that Python's `tarfile` writes them.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::excluded::ExcludedFiles;
use super::{children, lstat, unsafe_content};
use crate::archive::framing::{BLOCK, DIRECTORY, PAX, REGULAR, SYMLINK};
use crate::archive::links::{Graph, MANIFEST, Node, check_graph, check_link, check_name};
use crate::checkpoint::{CheckpointLimits, fill, open_regular};
use crate::error::{Error, ErrorKind, Result, carried, fail};
use crate::progress::{Stage, Watch};
use crate::scratch::Share;
use crate::text::python_repr;

/// tarfile fills its output up to whole records of 20 blocks.
const RECORD: u64 = 20 * BLOCK;
const NAME_FIELD: usize = 100;
/// Agno's gzip level: within 5% of level 6 for 44% of its time.
const LEVEL: u32 = 4;

enum Encoder<'a> {
    Gzip(Box<flate2::write::GzEncoder<io::BufWriter<Counted<'a>>>>),
    Plain(io::BufWriter<Counted<'a>>),
}

/// The archive's file; what is about to be written in it counts in the share, where there is one.
struct Counted<'a> {
    file: &'a File,
    share: Option<&'a mut Share>,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(share) = &mut self.share {
            share.grow(bytes.len() as u64).map_err(carried)?;
        }
        self.file.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Counts archive bytes on their way into the encoder.
pub(super) struct Tell<'a> {
    encoder: Encoder<'a>,
    told: u64,
    destination: &'a Path,
}

impl<'a> Tell<'a> {
    /// Archive bytes to `file`, gzipped when `compress`.
    pub(super) fn new(
        file: &'a File,
        compress: bool,
        destination: &'a Path,
        share: Option<&'a mut Share>,
    ) -> Self {
        let output = io::BufWriter::with_capacity(1 << 18, Counted { file, share });
        let encoder = if compress {
            // No name and no time, so that one unchanged tree is one object every turn.
            let gzip = flate2::GzBuilder::new()
                .mtime(0)
                .operating_system(255)
                .write(output, flate2::Compression::new(LEVEL));
            Encoder::Gzip(Box::new(gzip))
        } else {
            Encoder::Plain(output)
        };
        Self {
            encoder,
            told: 0,
            destination,
        }
    }
}

impl Tell<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.told += bytes.len() as u64;
        match &mut self.encoder {
            Encoder::Gzip(out) => out.write_all(bytes),
            Encoder::Plain(out) => out.write_all(bytes),
        }
        .map_err(|error| failed(self.destination, error))
    }

    fn zeros(&mut self, count: u64) -> Result<()> {
        self.write(&vec![0; usize::try_from(count).unwrap_or(0)])
    }

    pub(super) fn finish(self) -> Result<()> {
        let file = match self.encoder {
            Encoder::Gzip(out) => out.finish(),
            Encoder::Plain(out) => Ok(out),
        };
        file.and_then(|mut file| file.flush())
            .map_err(|error| failed(self.destination, error))
    }
}

/// Our own refusal where one was carried, else the operating system's.
fn failed(destination: &Path, error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => Error::io("write", destination, error),
    }
}

pub(super) struct Writer<'a> {
    out: Tell<'a>,
    limits: CheckpointLimits,
    excluded: &'a ExcludedFiles,
    count: u64,
    size: u64,
    links: Vec<(Vec<u8>, Vec<u8>)>,
    watch: &'a Watch,
}

impl<'a> Writer<'a> {
    /// Starts the archive with its manifest.
    pub(super) fn begin(
        out: Tell<'a>,
        limits: CheckpointLimits,
        excluded: &'a ExcludedFiles,
        manifest: &[u8],
        watch: &'a Watch,
    ) -> Result<Self> {
        let size = manifest.len() as u64;
        let mut writer = Self {
            out,
            limits,
            excluded,
            count: 1,
            size,
            links: Vec::new(),
            watch,
        };
        writer.header(MANIFEST, REGULAR, 0o600, size, None, b"")?;
        writer.data(manifest)?;
        Ok(writer)
    }
}

impl Writer<'_> {
    pub(super) fn add(&mut self, path: &Path, name: &[u8]) -> Result<()> {
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
        if let Some(alias) = self.excluded.alias(entry) {
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
            let count = fill(&mut &source, &mut piece[..want]).map_err(failed)?;
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

    pub(super) fn finish(mut self) -> Result<()> {
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
pub(in crate::archive) fn pax_record(key: &[u8], value: &[u8]) -> Vec<u8> {
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
