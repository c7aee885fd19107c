//! Names and links that stay inside their root, by Agno's rules and by the kernel's.

use std::collections::HashMap;

use crate::error::{ErrorKind, Result, fail};
use crate::text::python_repr;

/// The two roots of an archive, in name order.
pub(crate) const ROOTS: [&[u8]; 2] = [b"native", b"workspace"];
/// The one member outside the roots.
pub(crate) const MANIFEST: &[u8] = b"manifest.json";

/// The kernel follows this many links in one path.
const MAX_LINKS: usize = 40;
const MAX_COMPONENT: usize = 255;
/// Bytes of names that following all links may look up: an archive of links alone needs a part of it.
const MAX_WORK: u64 = 1 << 29;

/// Whether `name` is the root itself or below it.
fn root_of(name: &[u8]) -> &[u8] {
    name.split(|b| *b == b'/').next().unwrap_or(name)
}

/// Agno's `_name`: relative, no empty, `.` or `..` part, no backslash, below a root.
pub(crate) fn check_name(name: &[u8]) -> Result<()> {
    if name.is_empty()
        || name.contains(&b'\\')
        || name.contains(&0)
        || name
            .split(|b| *b == b'/')
            .any(|part| matches!(part, b"" | b"." | b".."))
    {
        return fail(ErrorKind::InvalidArchive, "Unsafe checkpoint path");
    }
    if !ROOTS.contains(&root_of(name)) && name != MANIFEST {
        return fail(
            ErrorKind::InvalidArchive,
            "Checkpoint path is outside declared roots",
        );
    }
    Ok(())
}

/// Agno's `_link`: a relative target that, read as text, stays in its root.
pub(crate) fn check_link(name: &[u8], target: &[u8]) -> Result<()> {
    let shown = || format!("{} -> {}", python_repr(name), python_repr(target));
    if target.is_empty() || target.contains(&b'\\') || target.contains(&0) {
        return fail(
            ErrorKind::InvalidArchive,
            format!(
                "Unsafe checkpoint symlink {}; exclude it before capture",
                shown()
            ),
        );
    }
    if target.first() == Some(&b'/') {
        return Ok(());
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    let folder = name
        .iter()
        .rposition(|b| *b == b'/')
        .map_or(&b""[..], |at| &name[..at]);
    for part in folder
        .split(|b| *b == b'/')
        .chain(target.split(|b| *b == b'/'))
    {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.first() != Some(&root_of(name)) {
        return fail(
            ErrorKind::InvalidArchive,
            format!(
                "Checkpoint symlink {} escapes its durable root; exclude it before capture",
                shown()
            ),
        );
    }
    Ok(())
}

/// What a name in the archive is, as far as links care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node<'a> {
    Directory,
    File,
    Link(&'a [u8]),
}

/// The names of an archive, for following links through them.
#[derive(Debug, Default)]
pub(crate) struct Graph<'a> {
    nodes: HashMap<&'a [u8], Node<'a>>,
    /// The relative links in the archive's order, so that the first bad one is named.
    links: Vec<(&'a [u8], &'a [u8])>,
    /// Bytes of the longest name, and parts of the deepest: what is more is not there.
    longest: usize,
    deepest: usize,
}

impl<'a> Graph<'a> {
    pub(crate) fn insert(&mut self, name: &'a [u8], node: Node<'a>) {
        if let Node::Link(target) = node
            && target.first() != Some(&b'/')
        {
            self.links.push((name, target));
        }
        self.longest = self.longest.max(name.len());
        let depth = 1 + name.iter().filter(|byte| **byte == b'/').count();
        self.deepest = self.deepest.max(depth);
        self.nodes.insert(name, node);
    }
}

/// A place that a path has led to so far, and what looking there may still cost in all.
struct Walk<'g, 'a> {
    graph: &'g Graph<'a>,
    path: Vec<u8>,
    /// Where each part of `path` ends.
    ends: Vec<usize>,
    left: &'g mut u64,
}

/// Following these links costs more than any directory that a person works in.
struct Endless;

impl<'g, 'a> Walk<'g, 'a> {
    fn new(graph: &'g Graph<'a>, left: &'g mut u64) -> Self {
        Self {
            graph,
            path: Vec::new(),
            ends: Vec::new(),
            left,
        }
    }

    /// Goes on along `target` before what is left in `pending`; its parts that say nothing are left
    /// out, and cost what it takes to see that.
    fn follow<'p>(&mut self, target: &'p [u8], pending: &mut Vec<&'p [u8]>) -> Result<(), Endless> {
        self.spend(target.len() as u64)?;
        let parts = target.rsplit(|byte| *byte == b'/');
        let parts = parts.filter(|part| !matches!(*part, b"" | b"."));
        let before = pending.len();
        pending.extend(parts);
        self.spend(16 * (pending.len() - before) as u64)
    }

    fn spend(&mut self, cost: u64) -> Result<(), Endless> {
        *self.left = self.left.checked_sub(cost).ok_or(Endless)?;
        Ok(())
    }

    fn push(&mut self, part: &[u8]) {
        if !self.ends.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(part);
        self.ends.push(self.path.len());
    }

    /// One up; `None` at the top.
    fn pop(&mut self) -> Option<()> {
        self.ends.pop()?;
        self.path.truncate(self.ends.last().copied().unwrap_or(0));
        Some(())
    }

    fn depth(&self) -> usize {
        self.ends.len()
    }

    fn root(&self) -> Option<&[u8]> {
        self.ends.first().map(|end| &self.path[..*end])
    }

    /// What stands here in the archive.
    fn node(&mut self) -> Result<Option<Node<'a>>, Endless> {
        let there = self.path.len() <= self.graph.longest && self.depth() <= self.graph.deepest;
        self.spend(16 + if there { self.path.len() as u64 } else { 0 })?;
        Ok(there
            .then(|| self.graph.nodes.get(&self.path[..]).copied())
            .flatten())
    }

    /// The target of a link that a restore writes here: absolute ones are not there when links are
    /// followed.
    fn written_link(&mut self) -> Result<Option<&'a [u8]>, Endless> {
        Ok(match self.node()? {
            Some(Node::Link(target)) if target.first() != Some(&b'/') => Some(target),
            _ => None,
        })
    }
}

/// Agno's `_validate_link_graph`: no chain leaves its root or takes more than 40 hops.
pub(crate) fn check_graph(graph: &Graph<'_>) -> Result<()> {
    let mut left = MAX_WORK;
    for (name, target) in &graph.links {
        follow(graph, name, target, &mut left)?;
    }
    Ok(())
}

fn follow(graph: &Graph<'_>, name: &[u8], target: &[u8], left: &mut u64) -> Result<()> {
    let root = root_of(name);
    let mut pending: Vec<&[u8]> = Vec::new();
    let mut at = Walk::new(graph, left);
    at.follow(target, &mut pending).or_else(|_| endless())?;
    pending.extend(name.rsplit(|b| *b == b'/').skip(1));
    let mut hops = 0;
    while let Some(part) = pending.pop() {
        match part {
            b".." => {
                if at.depth() <= 1 {
                    return chain_escapes();
                }
                at.pop();
                continue;
            }
            part => at.push(part),
        }
        if at.root() != Some(root) {
            return chain_escapes();
        }
        if let Some(Node::Link(target)) = at.node().or_else(|_| endless())? {
            if target.first() == Some(&b'/') {
                break;
            }
            hops += 1;
            if hops > MAX_LINKS {
                return endless();
            }
            at.pop();
            at.follow(target, &mut pending).or_else(|_| endless())?;
        }
    }
    Ok(())
}

fn endless<T>() -> Result<T> {
    fail(
        ErrorKind::InvalidArchive,
        "Checkpoint contains a symlink cycle or excessive indirection",
    )
}

fn chain_escapes<T>() -> Result<T> {
    fail(
        ErrorKind::InvalidArchive,
        "Checkpoint symlink chain escapes its durable root",
    )
}

/// What Agno's restore finds when it follows every restored link on disk: a chain the kernel does
/// not follow, or one that leaves its root where a left-out absolute link would have stood.
pub(crate) fn check_restorable(graph: &Graph<'_>) -> Result<()> {
    let mut left = MAX_WORK;
    for (name, _) in &graph.links {
        if kernel_loops(graph, name, &mut left).unwrap_or(true) {
            return fail(
                ErrorKind::InvalidArchive,
                "Checkpoint contains a symlink cycle or an unfollowable chain",
            );
        }
        if !real_path_stays(graph, name, &mut left).unwrap_or(false) {
            return chain_escapes();
        }
    }
    Ok(())
}

/// Whether `stat` of a restored link answers ELOOP.
fn kernel_loops(graph: &Graph<'_>, name: &[u8], left: &mut u64) -> Result<bool, Endless> {
    let mut pending: Vec<&[u8]> = name.rsplit(|b| *b == b'/').collect();
    let mut at = Walk::new(graph, left);
    let mut links = 0;
    while let Some(part) = pending.pop() {
        match part {
            b".." => {
                at.pop();
                continue;
            }
            part if part.len() > MAX_COMPONENT => return Ok(false),
            part => at.push(part),
        }
        match at.node()? {
            Some(Node::Link(target)) if target.first() != Some(&b'/') => {
                links += 1;
                if links > MAX_LINKS {
                    return Ok(true);
                }
                at.pop();
                at.follow(target, &mut pending)?;
            }
            Some(Node::Directory) => {}
            Some(Node::File) if pending.is_empty() => {}
            // ENOENT or ENOTDIR: the walk ends here, without a loop.
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// Python's non-strict `realpath`: what is missing counts as an empty directory.
fn real_path_stays(graph: &Graph<'_>, name: &[u8], left: &mut u64) -> Result<bool, Endless> {
    let root = root_of(name);
    let mut pending: Vec<&[u8]> = name.rsplit(|b| *b == b'/').collect();
    let mut at = Walk::new(graph, left);
    let mut hops = 0;
    while let Some(part) = pending.pop() {
        match part {
            b".." => {
                if at.pop().is_none() {
                    return Ok(false);
                }
                continue;
            }
            part => at.push(part),
        }
        if let Some(target) = at.written_link()? {
            hops += 1;
            if hops > 1000 {
                // A loop behind something missing: Python leaves its name as it stands.
                continue;
            }
            at.pop();
            at.follow(target, &mut pending)?;
        }
    }
    Ok(at.root() == Some(root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph<'a>(links: &'a [(String, String)]) -> Graph<'a> {
        let mut graph = Graph::default();
        graph.insert(b"workspace", Node::Directory);
        graph.insert(b"native", Node::Directory);
        for (name, target) in links {
            graph.insert(name.as_bytes(), Node::Link(target.as_bytes()));
        }
        graph
    }

    #[test]
    fn forty_links_are_followed_and_no_more() {
        let chain = |hops: usize| -> Vec<(String, String)> {
            (0..hops)
                .map(|n| (format!("workspace/l{n}"), format!("l{}", n + 1)))
                .collect()
        };
        assert!(check_graph(&graph(&chain(41))).is_ok());
        assert!(check_graph(&graph(&chain(42))).is_err());
        assert!(check_restorable(&graph(&chain(40))).is_ok());
        assert!(check_restorable(&graph(&chain(41))).is_err());
    }

    #[test]
    fn a_left_out_absolute_link_gives_no_way_out() {
        let links = [
            ("workspace/abs".to_owned(), "/etc".to_owned()),
            ("workspace/a/b/top".to_owned(), "../..".to_owned()),
            (
                "workspace/a/b/out".to_owned(),
                "top/abs/../../..".to_owned(),
            ),
        ];
        let mut graph = graph(&links);
        graph.insert(b"workspace/a", Node::Directory);
        graph.insert(b"workspace/a/b", Node::Directory);
        assert!(check_graph(&graph).is_ok());
        assert!(check_restorable(&graph).is_err());
    }

    proptest! {
        /// Whatever passes all checks never resolves outside its root, however links are nested.
        #[test]
        fn accepted_links_stay_inside(targets in proptest::collection::vec(r"((\.\.|a|b|l[0-4]|\.)/){0,4}(\.\.|a|l[0-4])", 5)) {
            let links: Vec<(String, String)> = targets.iter().enumerate()
                .map(|(n, target)| (format!("workspace/a/l{n}"), target.clone())).collect();
            let mut graph = graph(&links);
            graph.insert(b"workspace/a", Node::Directory);
            let named = links.iter().all(|(name, target)| check_link(name.as_bytes(), target.as_bytes()).is_ok());
            if named && check_graph(&graph).is_ok() && check_restorable(&graph).is_ok() {
                let folder = tempfile::tempdir().unwrap();
                let top = folder.path().join("x/y/z");
                std::fs::create_dir_all(top.join("workspace/a")).unwrap();
                for (name, target) in &links {
                    std::os::unix::fs::symlink(target, top.join(name)).unwrap();
                }
                for (name, _) in &links {
                    if let Ok(real) = std::fs::canonicalize(top.join(name)) {
                        let root = std::fs::canonicalize(top.join("workspace")).unwrap();
                        prop_assert!(real.starts_with(root), "{links:?}");
                    }
                }
            }
        }
    }
}
