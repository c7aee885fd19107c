//! "Did you mean": the name nearest to one that is not known.

/// The one of `names` that `word` is most likely a slip of.
#[must_use]
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // Long words are no slips of ours, and the distance is quadratic.
    if word.chars().count() > 40 {
        return None;
    }
    let near = names.into_iter().map(|name| (distance(&word, name), name));
    let (slips, name) = near.min_by_key(|(slips, _)| *slips)?;
    let length = name.chars().count().max(word.chars().count());
    (slips <= (length / 3).max(1)).then_some(name)
}

/// Letters to insert, drop or change, or neighbours to swap, to make one of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, second) in other.iter().enumerate() {
            let mut least = above[column] + usize::from(letter != second);
            least = least.min(above[column + 1] + 1).min(line[column] + 1);
            if row > 0 && column > 0 && one[row - 1] == *second && other[column - 1] == *letter {
                least = least.min(before[column - 1] + 1);
            }
            line.push(least);
        }
        before = std::mem::replace(&mut above, line);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_word() {
        let names = ["next-hunk", "next-file", "quit"];
        assert_eq!(nearest("next-hnuk", names), Some("next-hunk"));
        assert_eq!(nearest("Quit", names), Some("quit"));
        assert_eq!(nearest("qiut", names), Some("quit"));
        assert_eq!(nearest("transcript", names), None);
        assert_eq!(nearest(&"x".repeat(10_000), names), None);
    }
}
