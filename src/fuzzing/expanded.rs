//! What an archive is made of, piece by piece: compression, headers, pax records, links.

use std::collections::BTreeMap;
use std::io::Read;

use super::{limits, tarball};
use crate::archive::Spool;
use crate::archive::framing::{Header, blocks, preflight};
use crate::archive::gunzip::Gunzip;
use crate::archive::links::{
    Graph, Node, ROOTS, check_graph, check_link, check_name, check_restorable,
};
use crate::archive::member::Members;
use crate::archive::number::{header_number, python_float, python_int};
use crate::archive::pax::{Mtime, Records, record_mtime, record_size};
use crate::error::{ErrorKind, fail};
use crate::progress::Watch;
use crate::scratch::Scratch;

/// Gzipped bytes: how they are cut into pieces changes nothing, and what is read is what another
/// reader reads.
pub fn gunzip(data: &[u8]) {
    const MOST: usize = 1 << 20;
    let expand = |step: usize| -> Option<Vec<u8>> {
        let (mut gunzip, mut expanded) = (Gunzip::new(), Vec::new());
        for piece in data.chunks(step) {
            let fed = gunzip.feed(piece, |bytes| {
                if expanded.len() + bytes.len() > MOST {
                    return fail(ErrorKind::Limit, "enough");
                }
                expanded.extend_from_slice(bytes);
                Ok(())
            });
            fed.ok()?;
        }
        gunzip.finish().ok()?;
        Some(expanded)
    };
    let whole = expand(usize::MAX);
    for step in [1, 7, 64] {
        assert_eq!(expand(step), whole, "in pieces of {step}");
    }
    let mut first = Vec::new();
    let theirs = flate2::read::GzDecoder::new(data);
    if let Some(whole) = whole
        && theirs.take(MOST as u64).read_to_end(&mut first).is_ok()
    {
        assert!(whole.starts_with(&first), "another reader reads otherwise");
    }
}

/// A tar's headers: what the first walk lets pass leads to its end, and the second walk goes forward,
/// block by block.
pub fn framing(data: &[u8]) {
    let (limits, watch) = (limits(), Watch::default());
    let Ok(mut spool) = Spool::new(&Scratch::default()) else {
        return;
    };
    if spool.append(data).is_err() || preflight(&spool, &limits, &watch).is_err() {
        return;
    }
    let mut at = 0;
    let mut headers = 0;
    loop {
        let block = data.get(at..).and_then(<[u8]>::first_chunk::<512>);
        let Some(block) = block else {
            panic!("it passed without an end");
        };
        if block.iter().all(|byte| *byte == 0) {
            break;
        }
        let Ok(header) = Header::parse(block) else {
            panic!("it passed with a bad header");
        };
        let size = u64::try_from(header.size).unwrap_or(u64::MAX);
        assert!(size <= data.len() as u64, "a size that does not fit");
        at += 512 + usize::try_from(blocks(size)).unwrap_or(usize::MAX);
        headers += 1;
    }
    assert!(headers <= limits.max_entries * 3);
    let mut members = Members::new(&spool, &limits);
    let mut last = 0;
    while let Ok(Some(member)) = members.next() {
        assert_eq!(member.offset % 512, 0);
        assert!(member.offset > last, "it goes back");
        assert!(member.offset <= spool.len());
        last = member.offset;
    }
}

/// Records of an extension header, and the numbers in them and in headers.
pub fn pax(data: &[u8]) {
    let mut records = Records::default();
    if records.add(data).is_ok() {
        let mut written = Vec::new();
        for (key, value) in records.iter() {
            assert!(!key.is_empty() && !key.contains(&b'='));
            written.extend(tarball::record(key, value));
        }
        let mut again = Records::default();
        assert_eq!(again.add(&written), Ok(()));
        assert!(again.iter().eq(records.iter()), "it reads otherwise again");
        assert_eq!(again.sparse(), records.sparse());
    }
    for field in data.split(|byte| matches!(byte, b'=' | b'\n')) {
        let _ = record_size(field);
        for time in record_mtime(field).into_iter().chain([Mtime::Whole(7)]) {
            if let Some((_, nanos)) = time.timespec() {
                assert!(nanos < 1_000_000_000);
            }
        }
        if let Ok(text) = std::str::from_utf8(field) {
            let _ = python_float(text);
            if let Some(number) = python_int(text, 10).filter(|number| *number < i128::MAX) {
                assert_eq!(python_int(&number.to_string(), 10), Some(number));
            }
        }
        for width in [8, 12] {
            let _ = field.get(..width).map(header_number);
        }
    }
}

/// Names and links, a line each (`d NAME`, `f NAME`, `l NAME TARGET`): what passes every check leads
/// nowhere outside its root when the links are followed one by one.
pub fn links(data: &[u8]) {
    let mut known: BTreeMap<&[u8], Node<'_>> = BTreeMap::new();
    let mut graph = Graph::default();
    for root in ROOTS {
        known.insert(root, Node::Directory);
        graph.insert(root, Node::Directory);
    }
    for line in data.split(|byte| *byte == b'\n') {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let (kind, name) = (words.next(), words.next().unwrap_or_default());
        let target = words.next().unwrap_or_default();
        let cut = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let node = match kind {
            Some(b"d") => Node::Directory,
            Some(b"f") => Node::File,
            Some(b"l") => Node::Link(target),
            _ => continue,
        };
        let fits = check_name(name).is_ok()
            && !known.contains_key(name)
            && known.get(&name[..cut]) == Some(&Node::Directory)
            && (kind != Some(b"l") || check_link(name, target).is_ok());
        if fits {
            known.insert(name, node);
            graph.insert(name, node);
        }
    }
    if check_graph(&graph).is_err() || check_restorable(&graph).is_err() {
        return;
    }
    for (name, node) in &known {
        if matches!(node, Node::Link(target) if !target.starts_with(b"/")) {
            let root = name.split(|byte| *byte == b'/').next().unwrap_or_default();
            let mut followed = 0;
            follow(&known, root, &mut Vec::new(), name, &mut followed);
        }
    }
}

/// Goes along `path` from the folder `at`, as a kernel does; `None` where that ends.
fn follow<'a>(
    known: &BTreeMap<&'a [u8], Node<'a>>,
    root: &[u8],
    at: &mut Vec<&'a [u8]>,
    path: &'a [u8],
    followed: &mut usize,
) -> Option<()> {
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                at.pop();
                assert!(!at.is_empty(), "a link leaves its root");
            }
            part if part.len() > 255 => return None,
            part => {
                at.push(part);
                assert_eq!(at[0], root, "a link leads to the other root");
                match known.get(&at.join(&b'/')[..]) {
                    Some(Node::Link(target)) if target.starts_with(b"/") => return None,
                    Some(Node::Link(target)) => {
                        *followed += 1;
                        assert!(*followed <= 40, "links that a kernel does not follow");
                        at.pop();
                        follow(known, root, at, target, followed)?;
                    }
                    Some(Node::Directory) => {}
                    // Nothing is below a file, nor below what is not there.
                    _ => return None,
                }
            }
        }
    }
    Some(())
}
