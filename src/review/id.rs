//! Object ids, and the paths and modes that git lets a tree hold.

/// An object's id.
pub(crate) type Id = [u8; 20];

/// A submodule's mode.
pub(crate) const GITLINK: u32 = 0o160_000;

/// `text` as an id, when it is 40 hex digits.
pub(crate) fn parse_id(text: &[u8]) -> Option<Id> {
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != 20 || !rest.is_empty() {
        return None;
    }
    let mut id = [0; 20];
    for (byte, pair) in id.iter_mut().zip(pairs) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(id)
}

/// 40 hex digits.
pub(crate) fn show_id(id: &Id) -> String {
    crate::checkpoint::hex(id)
}

/// Whether git lets a tree hold this path.
pub(crate) fn is_path(path: &[u8]) -> bool {
    !path.is_empty()
        && path
            .split(|b| *b == b'/')
            .all(|part| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git"))
}
