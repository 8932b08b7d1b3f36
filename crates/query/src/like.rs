//! `LIKE`: `%` is anything, `_` one character. The pattern is cut at each `%`; the pieces are looked for one after the other, each as far to
//! the left as it can be, which is right because whatever is between them may be anything. A piece without `_` takes time in
//! proportion to the text. One with `_` may take longer, which is charged.

use memchr::memmem;

use crate::budget::{Budget, Exceeded};

/// What stands between two `%`.
#[derive(Debug, Default)]
struct Piece {
    /// Characters of any kind before the first text.
    skip: usize,
    /// A text, and how many characters of any kind follow it.
    texts: Vec<(String, usize)>,
}

impl Piece {
    fn push(&mut self, c: char) {
        match self.texts.last_mut() {
            Some((text, 0)) => text.push(c),
            Some(_) | None => self.texts.push((c.to_string(), 0)),
        }
    }

    fn push_any(&mut self) {
        match self.texts.last_mut() {
            Some((_, after)) => *after += 1,
            None => self.skip += 1,
        }
    }

    /// In characters.
    fn length(&self) -> usize {
        self.skip + self.texts.iter().map(|(text, after)| text.chars().count() + after).sum::<usize>()
    }

    /// Where it ends if it stands at the beginning of `text`.
    fn matches(&self, text: &str, budget: &Budget) -> Result<Option<usize>, Exceeded> {
        match skipped(text, self.skip) {
            None => Ok(None),
            Some(at) => Ok(self.texts_match(&text[at..], budget)?.map(|end| at + end)),
        }
    }

    fn texts_match(&self, text: &str, budget: &Budget) -> Result<Option<usize>, Exceeded> {
        let mut at = 0;
        for (wanted, after) in &self.texts {
            budget.look(wanted.len())?;
            if !text[at..].starts_with(wanted.as_str()) {
                return Ok(None);
            }
            at += wanted.len();
            match skipped(&text[at..], *after) {
                None => return Ok(None),
                Some(length) => at += length,
            }
        }
        Ok(Some(at))
    }

    /// Where the first one in `text` ends.
    fn find(&self, text: &str, budget: &Budget) -> Result<Option<usize>, Exceeded> {
        let Some(from) = skipped(text, self.skip) else { return Ok(None) };
        let Some((first, _)) = self.texts.first() else { return Ok(Some(from)) };
        budget.look(text.len() - from)?;
        let finder = memmem::Finder::new(first.as_bytes());
        let mut at = from;
        while let Some(next) = finder.find(&text.as_bytes()[at..]).map(|found| at + found) {
            budget.look(first.len())?;
            if let Some(length) = self.texts_match(&text[next..], budget)? {
                return Ok(Some(next + length));
            }
            // The next one may begin within this one.
            at = next + text[next..].chars().next().map_or(1, char::len_utf8);
        }
        Ok(None)
    }
}

/// The bytes that the first `count` characters take, if there are as many.
fn skipped(text: &str, count: usize) -> Option<usize> {
    if count == 0 {
        return Some(0);
    }
    text.char_indices().nth(count - 1).map(|(at, c)| at + c.len_utf8())
}

fn pieces(pattern: &str, escape: Option<char>) -> Vec<Piece> {
    let mut pieces = vec![Piece::default()];
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let last = pieces.len() - 1;
        match c {
            c if Some(c) == escape => pieces[last].push(chars.next().unwrap_or(c)),
            '%' => pieces.push(Piece::default()),
            '_' => pieces[last].push_any(),
            c => pieces[last].push(c),
        }
    }
    pieces
}

pub fn like(text: &str, pattern: &str, escape: Option<char>, budget: &Budget) -> Result<bool, Exceeded> {
    budget.look(pattern.len().saturating_mul(8))?;
    let pieces = pieces(pattern, escape);
    let [first, middle @ .., last] = &pieces[..] else {
        return Ok(pieces[0].matches(text, budget)? == Some(text.len()));
    };
    let Some(mut at) = first.matches(text, budget)? else { return Ok(false) };
    for piece in middle {
        match piece.find(&text[at..], budget)? {
            Some(end) => at += end,
            None => return Ok(false),
        }
    }
    let length = last.length();
    if length == 0 {
        return Ok(true);
    }
    budget.look(length)?;
    let start = text[at..].char_indices().rev().nth(length - 1).map(|(start, _)| at + start);
    let Some(start) = start else { return Ok(false) };
    Ok(last.matches(&text[start..], budget)? == Some(text.len() - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the definition has it, by trying everything.
    fn plainly(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|at| plainly(&text[at..], rest)),
            ['_', rest @ ..] => !text.is_empty() && plainly(&text[1..], rest),
            [c, rest @ ..] => text.first() == Some(c) && plainly(&text[1..], rest),
        }
    }

    fn budget() -> Budget {
        let budget = Budget::default();
        budget.begin_record();
        budget
    }

    /// All short texts and patterns of few characters.
    #[test]
    fn every_short_pattern_is_as_defined() {
        let all = |letters: &[char], most: usize| {
            let mut texts = vec![String::new()];
            let mut from = 0;
            for _ in 0..most {
                let until = texts.len();
                for at in from..until {
                    for letter in letters {
                        texts.push(format!("{}{letter}", texts[at]));
                    }
                }
                from = until;
            }
            texts
        };
        let texts = all(&['a', 'é'], 5);
        for pattern in all(&['a', 'é', '%', '_'], 5) {
            let chars: Vec<char> = pattern.chars().collect();
            for text in &texts {
                let expected = plainly(&text.chars().collect::<Vec<_>>(), &chars);
                assert_eq!(like(text, &pattern, None, &budget()), Ok(expected), "{text} LIKE {pattern}");
            }
        }
    }

    #[test]
    fn escapes() {
        for (text, pattern, expected) in
            [("50%", "50!%", true), ("500", "50!%", false), ("a!", "a!!", true), ("!", "!", true)]
        {
            assert_eq!(like(text, pattern, Some('!'), &budget()), Ok(expected), "{text} {pattern}");
        }
    }

    /// C3: the text of the report. The old matcher took n·m steps.
    #[test]
    fn long_patterns_cost_what_they_are_long() {
        let text = "a".repeat(2 << 20);
        for length in [100, 4_000, 200_000] {
            let budget = budget();
            let pattern = format!("%{}b", "a".repeat(length));
            assert_eq!(like(&text, &pattern, None, &budget), Ok(false));
            assert!(budget.spent() < (text.len() + 16 * pattern.len()) as u64, "{length}: {}", budget.spent());
            let pattern = format!("%{}b%", "a".repeat(length));
            assert_eq!(like(&text, &pattern, None, &budget), Ok(false));
        }
        // With `_` it may be more, and then the record has its bound.
        let odd = format!("%{}_b%", "a".repeat(200_000));
        assert_eq!(like(&text, &odd, None, &budget()), Err(Exceeded::Steps));
    }
}
