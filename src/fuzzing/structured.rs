//! Archives made up member by member, so that most get past the first rules.

use std::cell::Cell;
use std::collections::HashSet;

use proptest::prelude::*;

use super::restored::is_restored;
use super::tarball::Tarball;

const CASES: u32 = 400;

/// One member as it is made up.
#[derive(Clone, Debug)]
struct Made {
    name: String,
    kind: u8,
    target: String,
    content: Vec<u8>,
    mode: u32,
    records: Vec<(&'static str, String)>,
}

fn names() -> impl Strategy<Value = String> {
    let below = "(workspace|native)/[abl](/[abl]){0,3}";
    prop_oneof![
        12 => below,
        1 => "[abl.]{1,3}(/[abl.]{0,3}){0,3}",
        1 => "(workspace|native)/(\\.\\.|\\.|a\u{301}|A|a )(/[ab]){0,2}",
        1 => Just(format!("workspace/{}", "n".repeat(256))),
    ]
}

fn targets() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "((\\.\\.|a|b|l|\\.)/){0,5}(\\.\\.|a|b|l|native|workspace)",
        1 => "/[abl]{1,3}(/etc)?",
        1 => "(\\.\\./){1,6}(canary|b/canary|stored)",
    ]
}

fn records() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let one = prop_oneof![
        (Just("mtime"), "-?[0-9]{1,10}(\\.[0-9]{1,9})?|nan|1e30"),
        (Just("size"), "[0-9]{1,4}|18446744073709551615|-1"),
        (Just("path"), "(workspace|native)/[abl](/[abl]){0,2}/?"),
        (Just("linkpath"), "(\\.\\./){0,4}[abl]"),
        (Just("GNU.sparse.realsize"), "[0-9]{1,3}"),
    ];
    prop_oneof![5 => Just(Vec::new()), 1 => prop::collection::vec(one, 1..3)]
}

prop_compose! {
    fn member()(
        name in names(),
        kind in prop_oneof![
            5 => Just(b'0'), 6 => Just(b'5'), 5 => Just(b'2'),
            1 => prop::sample::select(&b"1346789gxLKS\0"[..]),
        ],
        target in targets(),
        content in prop::collection::vec(any::<u8>(), 0..40),
        mode in prop_oneof![2 => Just(0o755_u32), 1 => 0_u32..0o10000],
        records in records(),
    ) -> Made {
        // Only a file has content, and only a link a target, nearly always.
        let content = if matches!(kind, b'2' | b'5') { Vec::new() } else { content };
        let target = if matches!(kind, b'1' | b'2') { target } else { String::new() };
        Made { name, kind, target, content, mode, records }
    }
}

/// The folders above a name, outermost first.
fn above(name: &str) -> impl Iterator<Item = &str> {
    let cuts = name.char_indices().filter(|(_, c)| *c == '/');
    cuts.map(|(cut, _)| &name[..cut])
        .filter(|folder| folder.contains('/'))
}

/// Whatever the members are, a restore is refused whole or writes what they say and nothing beside
/// it.
#[test]
fn a_restore_writes_below_its_destination_or_nothing() {
    let restored = Cell::new(0);
    proptest!(ProptestConfig::with_cases(CASES), |(
        members in prop::collection::vec(member(), 0..10),
        whole in prop::bool::weighted(0.9),
        end in prop::bool::weighted(0.9),
    )| {
        let mut stored = written(&members, whole);
        if !end {
            stored.truncate(stored.len() - 1024);
        }
        restored.set(restored.get() + u32::from(is_restored(&stored)));
    });
    let restored = restored.get();
    println!("{restored} of {CASES} made-up archives are restored");
    assert!((CASES / 8..CASES * 7 / 8).contains(&restored), "{restored}");
}

/// The members as an archive: one with folders above them and each name once, when it is to be whole.
fn written(members: &[Made], whole: bool) -> Vec<u8> {
    let mut tarball = if whole {
        Tarball::new()
    } else {
        Tarball::empty()
    };
    let mut known = HashSet::new();
    for made in members {
        for folder in above(&made.name).filter(|_| whole) {
            if known.insert(folder) {
                tarball.folder(folder.as_bytes());
            }
        }
        if !known.insert(&made.name) && whole {
            continue;
        }
        let records: Vec<_> = made
            .records
            .iter()
            .map(|(key, value)| (key.as_bytes(), value.as_bytes()))
            .collect();
        let (name, target) = (made.name.as_bytes(), made.target.as_bytes());
        tarball.member(name, made.kind, target, &made.content, made.mode, &records);
    }
    tarball.finish()
}
