//! Characters that a variation selector or a skin tone may follow: written so, they are ordinary text.

/// Whether `c` followed by U+FE0E or U+FE0F is an emoji variation sequence; digits and signs of ASCII, which
/// keycaps begin with, are left out, since in code nothing may stand behind them unseen.
/// Source: Unicode's `emoji-variation-sequences.txt`, version 14.0.
pub(super) fn has_two_styles(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2194}'..='\u{2199}' | '\u{21a9}'..='\u{21aa}' | '\u{231a}'..='\u{231b}'
        | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23ea}' | '\u{23ed}'..='\u{23ef}'
        | '\u{23f1}'..='\u{23f3}' | '\u{23f8}'..='\u{23fa}' | '\u{24c2}'
        | '\u{25aa}'..='\u{25ab}' | '\u{25b6}' | '\u{25c0}' | '\u{25fb}'..='\u{25fe}'
        | '\u{2600}'..='\u{2604}' | '\u{260e}' | '\u{2611}' | '\u{2614}'..='\u{2615}'
        | '\u{2618}' | '\u{261d}' | '\u{2620}' | '\u{2622}'..='\u{2623}' | '\u{2626}'
        | '\u{262a}' | '\u{262e}'..='\u{262f}' | '\u{2638}'..='\u{263a}' | '\u{2640}'
        | '\u{2642}' | '\u{2648}'..='\u{2653}' | '\u{265f}'..='\u{2660}' | '\u{2663}'
        | '\u{2665}'..='\u{2666}' | '\u{2668}' | '\u{267b}' | '\u{267e}'..='\u{267f}'
        | '\u{2692}'..='\u{2697}' | '\u{2699}' | '\u{269b}'..='\u{269c}'
        | '\u{26a0}'..='\u{26a1}' | '\u{26a7}' | '\u{26aa}'..='\u{26ab}'
        | '\u{26b0}'..='\u{26b1}' | '\u{26bd}'..='\u{26be}' | '\u{26c4}'..='\u{26c5}'
        | '\u{26c8}' | '\u{26cf}' | '\u{26d1}' | '\u{26d3}'..='\u{26d4}'
        | '\u{26e9}'..='\u{26ea}' | '\u{26f0}'..='\u{26f5}' | '\u{26f7}'..='\u{26fa}'
        | '\u{26fd}' | '\u{2702}' | '\u{2708}'..='\u{2709}' | '\u{270c}'..='\u{270d}'
        | '\u{270f}' | '\u{2712}' | '\u{2714}' | '\u{2716}' | '\u{271d}' | '\u{2721}'
        | '\u{2733}'..='\u{2734}' | '\u{2744}' | '\u{2747}' | '\u{2753}' | '\u{2757}'
        | '\u{2763}'..='\u{2764}' | '\u{27a1}' | '\u{2934}'..='\u{2935}'
        | '\u{2b05}'..='\u{2b07}' | '\u{2b1b}'..='\u{2b1c}' | '\u{2b50}' | '\u{2b55}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f004}'
        | '\u{1f170}'..='\u{1f171}' | '\u{1f17e}'..='\u{1f17f}' | '\u{1f202}' | '\u{1f21a}'
        | '\u{1f22f}' | '\u{1f237}' | '\u{1f30d}'..='\u{1f30f}' | '\u{1f315}' | '\u{1f31c}'
        | '\u{1f321}' | '\u{1f324}'..='\u{1f32c}' | '\u{1f336}' | '\u{1f378}' | '\u{1f37d}'
        | '\u{1f393}' | '\u{1f396}'..='\u{1f397}' | '\u{1f399}'..='\u{1f39b}'
        | '\u{1f39e}'..='\u{1f39f}' | '\u{1f3a7}' | '\u{1f3ac}'..='\u{1f3ae}' | '\u{1f3c2}'
        | '\u{1f3c4}' | '\u{1f3c6}' | '\u{1f3ca}'..='\u{1f3ce}' | '\u{1f3d4}'..='\u{1f3e0}'
        | '\u{1f3ed}' | '\u{1f3f3}' | '\u{1f3f5}' | '\u{1f3f7}' | '\u{1f408}' | '\u{1f415}'
        | '\u{1f41f}' | '\u{1f426}' | '\u{1f43f}' | '\u{1f441}'..='\u{1f442}'
        | '\u{1f446}'..='\u{1f449}' | '\u{1f44d}'..='\u{1f44e}' | '\u{1f453}' | '\u{1f46a}'
        | '\u{1f47d}' | '\u{1f4a3}' | '\u{1f4b0}' | '\u{1f4b3}' | '\u{1f4bb}' | '\u{1f4bf}'
        | '\u{1f4cb}' | '\u{1f4da}' | '\u{1f4df}' | '\u{1f4e4}'..='\u{1f4e6}'
        | '\u{1f4ea}'..='\u{1f4ed}' | '\u{1f4f7}' | '\u{1f4f9}'..='\u{1f4fb}' | '\u{1f4fd}'
        | '\u{1f508}' | '\u{1f50d}' | '\u{1f512}'..='\u{1f513}' | '\u{1f549}'..='\u{1f54a}'
        | '\u{1f550}'..='\u{1f567}' | '\u{1f56f}'..='\u{1f570}' | '\u{1f573}'..='\u{1f579}'
        | '\u{1f587}' | '\u{1f58a}'..='\u{1f58d}' | '\u{1f590}' | '\u{1f5a5}' | '\u{1f5a8}'
        | '\u{1f5b1}'..='\u{1f5b2}' | '\u{1f5bc}' | '\u{1f5c2}'..='\u{1f5c4}'
        | '\u{1f5d1}'..='\u{1f5d3}' | '\u{1f5dc}'..='\u{1f5de}' | '\u{1f5e1}' | '\u{1f5e3}'
        | '\u{1f5e8}' | '\u{1f5ef}' | '\u{1f5f3}' | '\u{1f5fa}' | '\u{1f610}' | '\u{1f687}'
        | '\u{1f68d}' | '\u{1f691}' | '\u{1f694}' | '\u{1f698}' | '\u{1f6ad}' | '\u{1f6b2}'
        | '\u{1f6b9}'..='\u{1f6ba}' | '\u{1f6bc}' | '\u{1f6cb}' | '\u{1f6cd}'..='\u{1f6cf}'
        | '\u{1f6e0}'..='\u{1f6e5}' | '\u{1f6e9}' | '\u{1f6f0}' | '\u{1f6f3}')
}

/// Whether a skin tone may follow `c`. Source: `Emoji_Modifier_Base` in Unicode's `emoji-data.txt`, version 15.0.
pub(super) fn has_skin(c: char) -> bool {
    matches!(c,
        '\u{261d}' | '\u{26f9}' | '\u{270a}'..='\u{270d}' | '\u{1f385}'
        | '\u{1f3c2}'..='\u{1f3c4}' | '\u{1f3c7}' | '\u{1f3ca}'..='\u{1f3cc}'
        | '\u{1f442}'..='\u{1f443}' | '\u{1f446}'..='\u{1f450}' | '\u{1f466}'..='\u{1f478}'
        | '\u{1f47c}' | '\u{1f481}'..='\u{1f483}' | '\u{1f485}'..='\u{1f487}' | '\u{1f48f}'
        | '\u{1f491}' | '\u{1f4aa}' | '\u{1f574}'..='\u{1f575}' | '\u{1f57a}' | '\u{1f590}'
        | '\u{1f595}'..='\u{1f596}' | '\u{1f645}'..='\u{1f647}' | '\u{1f64b}'..='\u{1f64f}'
        | '\u{1f6a3}' | '\u{1f6b4}'..='\u{1f6b6}' | '\u{1f6c0}' | '\u{1f6cc}' | '\u{1f90c}'
        | '\u{1f90f}' | '\u{1f918}'..='\u{1f91f}' | '\u{1f926}' | '\u{1f930}'..='\u{1f939}'
        | '\u{1f93c}'..='\u{1f93e}' | '\u{1f977}' | '\u{1f9b5}'..='\u{1f9b6}'
        | '\u{1f9b8}'..='\u{1f9b9}' | '\u{1f9bb}' | '\u{1f9cd}'..='\u{1f9cf}'
        | '\u{1f9d1}'..='\u{1f9dd}' | '\u{1fac3}'..='\u{1fac5}' | '\u{1faf0}'..='\u{1faf8}')
}

/// Whether `next`, right behind `before`, changes only how that looks: nothing is lost without it, and
/// terminals agree about the columns of what is left.
pub(super) fn is_mere_look(before: char, next: char) -> bool {
    match next {
        '\u{fe0e}' | '\u{fe0f}' => has_two_styles(before),
        '\u{1f3fb}'..='\u{1f3ff}' => has_skin(before),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::*;
    use crate::text::{columns, visible_text};

    #[test]
    fn what_is_left_has_the_columns_that_every_terminal_counts() {
        let mut left = (0, 0);
        for base in (0x80..0x2_0000).filter_map(char::from_u32) {
            for (takes, look) in [
                (has_two_styles(base), '\u{fe0f}'),
                (has_skin(base), '\u{1f3fd}'),
            ] {
                if takes {
                    let alone = base.to_string();
                    let shown = visible_text(&format!("{base}{look}x")).into_owned();
                    assert_eq!(shown, format!("{base}x"));
                    assert_eq!(columns(&alone), alone.width(), "{base}");
                }
            }
            left.0 += usize::from(has_two_styles(base));
            left.1 += usize::from(has_skin(base));
        }
        // Of 354 bases 12 are ASCII.
        assert_eq!(left, (342, 134));
    }
}
