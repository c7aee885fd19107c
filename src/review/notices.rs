//! What a person triaging the run should know before believing what they see: credentials, programs
//! that git would have run, places that lead outside, and an index that hides changes.

use super::index::Index;
use super::model::Notice;
use super::tree::WorkTree;
use crate::archive::{Archive, DEFAULT_NATIVE_EXCLUSIONS, Entry};
use crate::error::Result;

const MAX_CONFIG: u64 = 1 << 20;

/// Configuration keys whose value git runs, or that lead it elsewhere; matched on section and key.
const RUNS: [&str; 16] = [
    "core.fsmonitor",
    "core.sshcommand",
    "core.pager",
    "core.editor",
    "core.askpass",
    "core.hookspath",
    "core.gitproxy",
    "diff.external",
    ".textconv",
    ".command",
    ".clean",
    ".smudge",
    ".process",
    "alias.",
    "credential.helper",
    "gpg.program",
];
const LEADS: [&str; 6] = [
    "include.path",
    "includeif.",
    "core.worktree",
    "core.excludesfile",
    "core.attributesfile",
    "extensions.worktreeconfig",
];

/// Notices about the harness home.
pub(crate) fn of_native(all: &WorkTree) -> Vec<Notice> {
    DEFAULT_NATIVE_EXCLUSIONS
        .iter()
        .filter(|path| all.entry(path).is_some())
        .map(|path| {
            Notice::at(
                "credentials",
                path,
                "a credential file is in the archive: treat what it holds as leaked",
            )
        })
        .collect()
}

/// Notices about the archive itself: where another program may see other files in the same bytes.
pub(crate) fn of_archive(archive: &Archive) -> Vec<Notice> {
    let told = archive.ambiguities().iter();
    told.map(|ambiguity| {
        let path = &ambiguity.path;
        let message = format!("{}; it is shown and restored as Agno does", ambiguity.why);
        if path.is_empty() {
            Notice::new("ambiguous-archive", message)
        } else {
            Notice::at("ambiguous-archive", path, message)
        }
    })
    .collect()
}

/// Notices about `.git`, none of which reaches libgit2.
pub(crate) fn of_git(tree: &WorkTree, index: &Index, notices: &mut Vec<Notice>) -> Result<()> {
    for (path, tag, message) in [
        (
            &b".git/commondir"[..],
            "commondir",
            "the checkout shares its objects with another folder: they are not read",
        ),
        (
            b".git/objects/info/alternates",
            "alternates",
            "objects are borrowed from elsewhere: they are not read",
        ),
        (
            b".git/objects/info/http-alternates",
            "alternates",
            "objects are borrowed from elsewhere: they are not read",
        ),
        (
            b".git/info/grafts",
            "grafts",
            "history is rewritten by grafts, which are not followed",
        ),
    ] {
        if tree.entry(path).is_some() {
            notices.push(Notice::at(tag, path, message));
        }
    }
    if tree.children(b".git/refs/replace").next().is_some() {
        notices.push(Notice::at(
            "replaced",
            b".git/refs/replace",
            "objects are replaced by refs, which are not followed",
        ));
    }
    for hook in tree.children(b".git/hooks") {
        if hook.mode & 0o111 != 0 && !hook.name().ends_with(b".sample") && !hook.is_directory() {
            notices.push(Notice::at(
                "hook",
                &[b".git/hooks/", hook.name()].concat(),
                "a hook that git would run",
            ));
        }
    }
    for path in [&b".git/config"[..], b".git/config.worktree"] {
        if let Some(config) = tree.file(path, MAX_CONFIG)? {
            of_config(path, &config, notices);
        }
    }
    for part in [&b".git/objects"[..], b".git/refs", b".git/info"] {
        if tree.entry(part).and_then(Entry::target).is_some() {
            notices.push(Notice::at(
                "git-symlink",
                part,
                "a part of .git is a link and is not followed",
            ));
        }
    }
    of_index(index, notices);
    Ok(())
}

fn of_index(index: &Index, notices: &mut Vec<Notice>) {
    let path = b".git/index";
    if let Some(why) = index.broken {
        notices.push(Notice::at(
            "bad-index",
            path,
            format!("the index cannot be read whole: {why}"),
        ));
    }
    if let Some(why) = index.partial {
        notices.push(Notice::at(
            "bad-index",
            path,
            format!("the index does not tell everything: {why}"),
        ));
    }
    if index.bad_entries > 0 {
        notices.push(Notice::at(
            "bad-index-entry",
            path,
            format!("{} entries of the index have paths or modes that no index may hold: they are dropped", index.bad_entries),
        ));
    }
    if index.clashing > 0 {
        let count = index.clashing;
        notices.push(Notice::at(
            "bad-index-entry",
            path,
            format!("{count} entries of the index lie below one that is a file: the base and the files themselves are believed"),
        ));
    }
}

/// Names the keys of a configuration that run programs or lead elsewhere.
fn of_config(path: &[u8], config: &[u8], notices: &mut Vec<Notice>) {
    let text = String::from_utf8_lossy(config);
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default();
            // Of `[filter "name"]` only the section counts; the name can be anything.
            section = head
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_lowercase();
            continue;
        }
        let key = line
            .split('=')
            .next()
            .unwrap_or_default()
            .trim()
            .to_lowercase();
        let name = format!("{section}.{key}");
        let named = |list: &[&str]| {
            list.iter().any(|item| {
                name == *item
                    || item.starts_with('.') && name.ends_with(item)
                    || item.ends_with('.') && name.starts_with(item)
            })
        };
        if named(&RUNS) {
            notices.push(Notice::at(
                "config-runs",
                path,
                format!(
                    "{} names a program that git would run",
                    crate::text::visible(&name)
                ),
            ));
        } else if named(&LEADS) {
            notices.push(Notice::at(
                "config-leads",
                path,
                format!(
                    "{} leads git elsewhere; it is not followed",
                    crate::text::visible(&name)
                ),
            ));
        } else if matches!(&name[..], "remote.promisor" | "extensions.partialclone")
            && !line.ends_with("false")
        {
            notices.push(Notice::at(
                "promisor",
                path,
                "a partial clone: what it left on its server is missing, and nobody is asked for it",
            ));
        } else if name == "core.autocrlf" && !line.ends_with("false") {
            notices.push(Notice::at(
                "autocrlf",
                path,
                "core.autocrlf is set: git would not show changes of line endings alone",
            ));
        } else if name == "core.repositoryformatversion"
            && !matches!(line.rsplit('=').next().map(str::trim), Some("0" | "1"))
        {
            notices.push(Notice::at(
                "unknown-format",
                path,
                "the checkout claims a repository format that git does not know",
            ));
        }
    }
    notices.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_that_runs_programs_is_told() {
        let config = b"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch x\n[filter \"a b\"]\n clean = y\n[alias]\n st = !z\n[include]\n\tpath = ../p\n[user]\n\tname = n\n";
        let mut notices = Vec::new();
        of_config(b".git/config", config, &mut notices);
        let tags: Vec<_> = notices.iter().map(|notice| notice.tag).collect();
        assert_eq!(
            tags,
            ["config-runs", "config-runs", "config-runs", "config-leads"]
        );
    }
}
