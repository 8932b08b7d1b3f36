//! Whether a name fits a pattern, by the rules of [MS-FSA] 2.1.4.4.
//!
//! `*` and `?` are what they are everywhere. Windows turns DOS patterns into three more before it sends them: `<` (DOS_STAR) is a star that stops
//! before the last dot, `>` (DOS_QM) a character or nothing where a part of the name ends, `"` (DOS_DOT) a dot or the end. Case is the caller's
//! matter: both sides are folded before.

/// Takes time in proportion to the product of both lengths, at worst.
pub fn matches(pattern: &str, name: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let last_dot = name.rfind('.');
    let mut reached = vec![false; pattern.len() + 1];
    let mut next = vec![false; pattern.len() + 1];
    reached[0] = true;
    for (at, character) in name.char_indices() {
        let dot = character == '.';
        next.fill(false);
        for place in 0..pattern.len() {
            if !reached[place] {
                continue;
            }
            let (stays, takes, passes) = match pattern[place] {
                '*' => (true, false, true),
                '<' => (Some(at) != last_dot, false, true),
                '>' => (false, !dot, dot),
                '"' => (false, dot, false),
                '?' => (false, true, false),
                same => (false, same == character, false),
            };
            next[place] |= stays;
            next[place + 1] |= takes;
            // Without taking anything: the places behind are looked at in this very round.
            reached[place + 1] |= passes;
        }
        std::mem::swap(&mut reached, &mut next);
    }
    ends(&pattern, &reached)
}

/// Whether what is left of the pattern fits nothing.
fn ends(pattern: &[char], reached: &[bool]) -> bool {
    let tail = pattern.iter().rev().take_while(|wild| matches!(wild, '*' | '<' | '>' | '"')).count();
    reached[pattern.len() - tail..].contains(&true)
}

/// Whether a pattern can fit more than one name.
pub fn is_wild(pattern: &str) -> bool {
    pattern.contains(['*', '?', '<', '>', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pattern, what fits, what does not.
    const TABLE: &[(&str, &[&str], &[&str])] = &[
        ("*", &["", "a", "a.b", ".", ".."], &[]),
        ("a", &["a"], &["", "b", "aa", "A"]),
        ("?", &["a", ".", "é", "😀"], &["", "ab"]),
        ("a*", &["a", "ab", "a.b"], &["", "ba"]),
        ("*a", &["a", "ba", "aa"], &["", "ab"]),
        ("*a*b*", &["ab", "xaxbx", "aab"], &["ba", "a", "b"]),
        ("*.*", &["a.b", ".", "a.", ".b", "a.b.c"], &["", "a"]),
        ("*.txt", &["a.txt", ".txt", "a.b.txt"], &["a.txt2", "atxt", "txt"]),
        ("a?c", &["abc", "a.c"], &["ac", "abbc"]),
        // DOS_STAR stops before the last dot.
        ("<", &["", "a", "abc"], &["a.b", "a.b.c", "a."]),
        ("<.b", &["a.b", "x.y.b", ".b"], &["a.b.c", "ab", "b"]),
        ("<.<", &["a.b", "a.b.c", "a."], &["a", ""]),
        ("<\"<", &["a", "a.b", "a.b.c", ""], &[]),
        ("a<b", &["ab", "axb"], &["a.b", "a.xb.b"]),
        // DOS_QM is one character, or none at a dot or at the end.
        (">", &["", "a"], &["ab", "a.b", "."]),
        (">>>", &["", "a", "ab", "abc"], &["abcd", "a.b"]),
        (">>>.txt", &["a.txt", "abc.txt", ".txt"], &["abcd.txt", "a.tx"]),
        ("a>>.>>", &["a.", "ab.c", "abc.de"], &["a", "abcd.e", "a.bcd"]),
        (">b", &["ab"], &["b", ".b"]),
        // DOS_DOT is a dot, or the end.
        ("a\"", &["a", "a."], &["ab", "a.."]),
        ("a\"b", &["a.b"], &["ab", "a"]),
        ("\"", &["", "."], &["a"]),
        (">>>>>>>>\"*", &["a", "file.text", "a.b.c"], &["longernames.x"]),
        ("", &[""], &["a"]),
        ("**", &["", "a"], &[]),
        ("日?", &["日本"], &["日", "日本語"]),
    ];

    #[test]
    fn the_table() {
        for (pattern, fit, do_not) in TABLE {
            fit.iter().for_each(|name| assert!(matches(pattern, name), "{pattern} fits {name}"));
            do_not.iter().for_each(|name| assert!(!matches(pattern, name), "{pattern} does not fit {name}"));
        }
    }

    /// The rules once more, as sentences about the rest of both: slow, and plain to see.
    fn plainly(pattern: &[char], name: &[char]) -> bool {
        let Some((first, rest)) = pattern.split_first() else { return name.is_empty() };
        let (head, tail) = (name.first().copied(), name.get(1..).unwrap_or(&[]));
        let last_dot = head == Some('.') && !tail.contains(&'.');
        match first {
            '*' => plainly(rest, name) || (head.is_some() && plainly(pattern, tail)),
            '<' => plainly(rest, name) || (head.is_some() && !last_dot && plainly(pattern, tail)),
            '>' if head.is_none() || head == Some('.') => plainly(rest, name),
            '>' | '?' => head.is_some() && plainly(rest, tail),
            '"' if head.is_none() => plainly(rest, name),
            '"' => head == Some('.') && plainly(rest, tail),
            same => head == Some(*same) && plainly(rest, tail),
        }
    }

    #[test]
    fn every_short_pattern_on_every_short_name() {
        let (signs, letters) = (['*', '?', '<', '>', '"', '.', 'a'], ['.', 'a']);
        let words = |alphabet: &[char], length: usize| {
            let mut words = vec![vec![]];
            for from in 0..length {
                let longest: Vec<Vec<char>> = words.iter().filter(|word| word.len() == from).cloned().collect();
                words
                    .extend(longest.iter().flat_map(|word| alphabet.iter().map(|sign| [&word[..], &[*sign]].concat())));
            }
            words
        };
        for pattern in words(&signs, 4) {
            for name in words(&letters, 4) {
                let (as_text, name_text) = (String::from_iter(&pattern), String::from_iter(&name));
                assert_eq!(matches(&as_text, &name_text), plainly(&pattern, &name), "{as_text} on {name_text}");
            }
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_their_number() {
        let pattern = "*a".repeat(127) + "b";
        assert!(!matches(&pattern, &"a".repeat(255)));
    }
}
