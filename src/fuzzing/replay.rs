//! Every target on every seed and on a fixed number of mutations of them: the same inputs each time,
//! without nightly. A crash that fuzzing finds becomes a seed, and stays found.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::{TARGETS, repair};

const BLOCK: usize = 512;
/// A mutation is no longer.
const LONGEST: usize = 64 << 10;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The names in a folder below `fuzz`, without what they end in.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).expect("a folder");
    let stem = |entry: fs::DirEntry| entry.path().file_stem()?.to_str().map(str::to_owned);
    entries.filter_map(|entry| stem(entry.ok()?)).collect()
}

/// A target's seeds by name.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fuzz().join("seeds").join(target);
    let mut seeds: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .expect("a folder of seeds")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("a seed"))
        })
        .collect();
    seeds.sort();
    seeds
}

/// One mutation: a few bits, bytes, cuts, copies of blocks, or a piece of another seed.
fn mutated(rng: &mut Rng, seed: &[u8], others: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut data = seed.to_vec();
    for _ in 0..rng.usize(1..=4) {
        let at = rng.usize(..=data.len());
        match rng.u8(..7) {
            0 | 1 if at < data.len() => data[at] ^= 1 << rng.u8(..8),
            2 if at < data.len() => data[at] = *rng.choice(b"\0\xff\x80/.\n 09'\"[{").expect("one"),
            3 => data.truncate(at),
            4 => {
                let word = [rng.u8(..), rng.u8(..), rng.u8(..), rng.u8(..)];
                data.splice(at..at, word[..rng.usize(..=4)].iter().copied());
            }
            5 => {
                let other = &rng.choice(others).expect("a seed").1;
                let from = rng.usize(..=other.len());
                let to = rng.usize(from..=other.len());
                data.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                let from = at / BLOCK * BLOCK;
                let block = data[from..data.len().min(from + BLOCK)].to_vec();
                let to = rng.usize(..=data.len() / BLOCK) * BLOCK;
                data.splice(to..to, block);
            }
        }
    }
    data.truncate(LONGEST);
    data
}

/// Gives the target its seeds, and so many mutations of each; the checksums of most tars are made
/// right.
fn replay(target: &str, mutations: usize) {
    let run = TARGETS.iter().find(|(name, _)| *name == target);
    let run = run.expect("a target").1;
    let seeds = seeds(target);
    assert!(!seeds.is_empty());
    for (number, (name, seed)) in seeds.iter().enumerate() {
        let mut rng = Rng::with_seed(number as u64);
        for mutation in 0..=mutations {
            let mut data = match mutation {
                0 => seed.clone(),
                _ => mutated(&mut rng, seed, &seeds),
            };
            if mutation > 0 && matches!(target, "framing" | "restore") && rng.u8(..8) > 0 {
                repair(&mut data);
            }
            if catch_unwind(AssertUnwindSafe(|| run(&data))).is_err() {
                let shown = data.escape_ascii();
                panic!("{target}: mutation {mutation} of {name} fails: b\"{shown}\"");
            }
        }
    }
}

macro_rules! replayed {
    ($($target:ident $mutations:literal,)*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), $mutations);
        })*

        /// A target that is added has seeds, an entry for `cargo fuzz`, and a test here.
        #[test]
        fn every_target_has_seeds_and_every_folder_of_seeds_a_target() {
            let all: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
            let tested = [$(stringify!($target)),*].map(str::to_owned);
            assert_eq!(all, BTreeSet::from(tested));
            assert_eq!(all, names("seeds"));
            assert_eq!(all, names("fuzz_targets"));
            let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
            for name in all {
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            }
        }
    };
}

replayed! {
    attributes 40,
    framing 100,
    gate 100,
    gunzip 60,
    ignore 20,
    index 100,
    json 200,
    links 200,
    loose 100,
    packs 60,
    pax 200,
    postgres 200,
    protocol 200,
    refs 40,
    restore 60,
    text 200,
    told 100,
    xml 200,
}
