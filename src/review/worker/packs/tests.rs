use std::io::Write;

use super::*;

/// Packs in a folder of their own, made entry by entry.
struct Made {
    folder: tempfile::TempDir,
    pack: Vec<u8>,
    ids: Vec<(Id, u64)>,
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).expect("to memory");
    out.finish().expect("to memory")
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

impl Made {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            pack: b"PACK\0\0\0\x02\0\0\0\x09".to_vec(),
            ids: Vec::new(),
        }
    }

    /// An entry that claims `size`, between its header and its bytes `base`.
    fn add(&mut self, id: Id, kind: u8, mut size: u64, base: &[u8], bytes: &[u8]) -> u64 {
        let offset = self.pack.len() as u64;
        self.ids.push((id, offset));
        let mut byte = kind << 4 | (size & 0x0f) as u8;
        size >>= 4;
        while size > 0 {
            self.pack.push(byte | 0x80);
            byte = (size & 0x7f) as u8;
            size >>= 7;
        }
        self.pack.push(byte);
        self.pack.extend(base);
        self.pack.extend(deflate(bytes));
        offset
    }

    fn delta(&mut self, id: Id, base: Id, makes: u64) {
        let bytes = [varint(9), varint(makes), vec![0x90, 1]].concat();
        self.add(id, 7, bytes.len() as u64, &base, &bytes);
    }

    /// The packs, with an index in this order.
    fn open(&mut self, sorted: bool) -> Packs {
        self.pack.extend([0; 20]);
        let folder = self.folder.path().join("objects/pack");
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("pack-1.pack"), &self.pack).expect("written");
        if sorted {
            self.ids.sort();
        }
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        for slot in 0..=255 {
            let count = self.ids.iter().filter(|(id, _)| id[0] <= slot).count();
            index.extend((count as u32).to_be_bytes());
        }
        for (id, _) in &self.ids {
            index.extend(id);
        }
        index.extend(vec![0; 4 * self.ids.len()]);
        for (_, offset) in &self.ids {
            index.extend((*offset as u32).to_be_bytes());
        }
        index.extend([0; 40]);
        std::fs::write(folder.join("pack-1.idx"), index).expect("written");
        Packs::open(self.folder.path())
    }
}

#[test]
fn a_sound_chain_may_be_read() {
    let mut made = Made::new();
    made.add([1; 20], 3, 9, b"", b"some text");
    made.delta([2; 20], [1; 20], 1);
    let back = made.pack.len() as u8 - 12;
    let bytes = [varint(9), varint(1), vec![0x90, 1]].concat();
    made.add([3; 20], 6, bytes.len() as u64, &[back], &bytes);
    let packs = made.open(true);
    for id in [[1; 20], [2; 20], [3; 20]] {
        assert_eq!(packs.check(&id), Ok(()));
    }
    assert_eq!(packs.check(&[4; 20]), Ok(()), "another pack may hold it");
}

#[test]
fn claims_that_nobody_can_pay_are_refused() {
    let mut made = Made::new();
    made.add([1; 20], 3, 6 << 30, b"", b"a lie");
    made.delta([2; 20], [1; 20], 100);
    made.add([3; 20], 3, 9, b"", b"some text");
    made.delta([4; 20], [3; 20], 2 << 30);
    made.delta([5; 20], [4; 20], 100);
    let packs = made.open(true);
    assert_eq!(packs.check(&[2; 20]), Err(Fault::Large(6 << 30)));
    assert_eq!(packs.check(&[5; 20]), Err(Fault::Large(2 << 30)));
    assert_eq!(packs.check(&[3; 20]), Ok(()));
}

#[test]
fn what_is_large_in_all_is_too_costly() {
    let mut made = Made::new();
    made.add([0; 20], 3, 9, b"", b"some text");
    for step in 1..=70 {
        made.delta([step; 20], [step - 1; 20], MAX_CONTENT);
    }
    let packs = made.open(true);
    assert_eq!(packs.check(&[70; 20]), Err(Fault::Costly));
    assert_eq!(packs.check(&[60; 20]), Ok(()));
}

#[test]
fn rings_end() {
    let mut made = Made::new();
    made.delta([1; 20], [2; 20], 9);
    made.delta([2; 20], [3; 20], 9);
    made.delta([3; 20], [2; 20], 9);
    made.delta([4; 20], [4; 20], 9);
    let packs = made.open(true);
    for id in 1..=4 {
        assert_eq!(packs.check(&[id; 20]), Err(Fault::Ring), "{id}");
    }
}

#[test]
fn what_lies_elsewhere_or_nowhere_is_said() {
    let mut made = Made::new();
    made.delta([1; 20], [9; 20], 9);
    made.ids.push(([2; 20], 0x7fff_fff0));
    made.ids.push(([3; 20], 3));
    let bytes = [varint(9), varint(1)].concat();
    made.add([4; 20], 6, 2, &[0x7f], &bytes);
    made.add([5; 20], 5, 2, b"", b"xx");
    let packs = made.open(true);
    assert_eq!(packs.check(&[1; 20]), Err(Fault::Nowhere));
    assert_eq!(packs.check(&[2; 20]), Err(Fault::Nowhere));
    assert_eq!(packs.check(&[3; 20]), Err(Fault::Nowhere));
    assert!(packs.check(&[4; 20]).is_err());
    assert_eq!(packs.check(&[5; 20]), Err(Fault::Malformed));
}

#[test]
fn an_index_out_of_order_is_believed_for_nothing() {
    let mut made = Made::new();
    made.add([1; 20], 3, 9, b"", b"some text");
    made.ids.push(([1; 20], 12));
    made.add([0; 20], 3, 9, b"", b"some text");
    let packs = made.open(false);
    assert_eq!(packs.check(&[1; 20]), Err(Fault::Disordered));
    assert_eq!(packs.check(&[7; 20]), Ok(()));
}
