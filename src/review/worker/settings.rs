//! libgit2's settings for the whole process: the only place of the program with `unsafe` in it.

#![allow(unsafe_code)]

/// No configuration of the system or the user, windows and caches of a bounded size, and every object
/// held against its name. Call it once, before anything else of libgit2 and with one thread.
pub(super) fn settle() {
    use git2::ConfigLevel::{Global, ProgramData, System, XDG};
    git2::opts::strict_hash_verification(true);
    git2::opts::strict_object_creation(false);
    // SAFETY: these set globals of libgit2 and race with its other uses; the worker has one thread
    // and has not called libgit2 yet.
    unsafe {
        for level in [System, Global, XDG, ProgramData] {
            let _ = git2::opts::set_search_path(level, "");
        }
        let _ = git2::opts::set_mwindow_size(32 << 20);
        let _ = git2::opts::set_mwindow_mapped_limit(512 << 20);
        let _ = git2::opts::set_cache_max_size(64 << 20);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The files below `folder` that allow or use it.
    fn allowing(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("listed").flatten() {
            let path = entry.path();
            if path.is_dir() {
                allowing(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            let words = [
                concat!("expect(", "unsafe_code"),
                concat!("unsafe", " impl"),
                concat!("unsafe", " trait"),
                concat!("unsafe", " extern"),
                concat!("allow(", "unsafe_code"),
                concat!("unsafe", " {"),
                concat!("unsafe", " fn"),
            ];
            let count: usize = words.iter().map(|word| text.matches(word).count()).sum();
            found.extend(std::iter::repeat_n(path.display().to_string(), count));
        }
    }

    #[test]
    fn unsafe_stands_in_this_file_alone() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = Vec::new();
        allowing(&root.join("src"), &mut found);
        // What allows it, and the block.
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found.iter().all(|path| path.ends_with(file!())),
            "{found:?}"
        );
    }
}
