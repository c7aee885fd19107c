//! Archives written block by block, so that they may hold what no tar library writes.

use std::path::Path;

use tar::EntryType;

const BLOCK: usize = 512;

/// One member's header and content.
#[derive(Clone)]
pub struct Member {
    header: tar::Header,
    content: Vec<u8>,
}

/// A member of this type, whose name and link target may hold anything that fits.
pub fn member(kind: u8, name: &[u8], link: &[u8], content: &[u8]) -> Member {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(EntryType::new(kind));
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(1_780_000_000);
    let fields = header.as_ustar_mut().expect("ustar");
    fields.name[..name.len()].copy_from_slice(name);
    fields.linkname[..link.len()].copy_from_slice(link);
    Member {
        header,
        content: content.to_vec(),
    }
}

pub fn file(name: &[u8], content: &[u8]) -> Member {
    member(b'0', name, b"", content)
}

pub fn folder(name: &[u8]) -> Member {
    member(b'5', name, b"", b"").mode(0o755)
}

pub fn link(name: &[u8], target: &[u8]) -> Member {
    member(b'2', name, target, b"").mode(0o777)
}

/// A pax header for the member after it.
pub fn pax(records: &[(&str, &[u8])]) -> Member {
    let all = records.iter().map(|(key, value)| record(key, value));
    extension(b'x', &all.collect::<Vec<_>>().concat())
}

/// An extension of this type with any payload.
pub fn extension(kind: u8, payload: &[u8]) -> Member {
    member(kind, b"extension", b"", payload)
}

/// `LENGTH KEY=VALUE`, where the length counts itself.
pub fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let length = (rest + 1..).find(|all| rest + all.to_string().len() == *all);
    let start = format!("{} {key}=", length.expect("a length"));
    [start.as_bytes(), value, b"\n"].concat()
}

impl Member {
    pub fn mode(mut self, mode: u32) -> Self {
        self.header.set_mode(mode);
        self
    }

    /// What the header says of the size, whatever the content is.
    pub fn says(mut self, size: u64) -> Self {
        self.header.set_size(size);
        self
    }

    /// The blocks of header and content.
    pub fn bytes(&self) -> Vec<u8> {
        let mut header = self.header.clone();
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(&self.content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    }
}

/// The bytes of an archive of these members alone.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let mut bytes: Vec<u8> = members.iter().flat_map(Member::bytes).collect();
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

/// A checkpoint with these members below its two roots.
pub fn checkpoint(members: &[Member]) -> Vec<u8> {
    let manifest = br#"{"version": 1, "state": {"run_id": "hostile"}, "excluded": []}"#;
    let first = [
        file(b"manifest.json", manifest),
        folder(b"native"),
        folder(b"workspace"),
    ];
    archive(&[&first[..], members].concat())
}

/// Writes a checkpoint with these members to `path`.
pub fn write(path: &Path, members: &[Member]) {
    std::fs::write(path, checkpoint(members)).expect("written");
}
