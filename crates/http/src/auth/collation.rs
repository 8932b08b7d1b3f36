//! The order in which the service sorts `x-ms-` headers before it signs them: not by code, but by a collation that
//! ignores `-` and `'` at first and puts punctuation before digits before letters. The official Python and
//! JavaScript clients reproduce it; others sort by code. The two differ only for unusual names.

use std::cmp::Ordering;

/// Characters of header names, lightest first. Those that are missing have no weight and are passed over.
const BY_WEIGHT: &[u8] = b"!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz";

const END: u8 = 1;

const WEIGHTS: [u8; 256] = {
    let mut weights = [0; 256];
    let mut at = 0;
    while at < BY_WEIGHT.len() {
        let weight = END + 1 + at as u8;
        weights[BY_WEIGHT[at] as usize] = weight;
        weights[BY_WEIGHT[at].to_ascii_uppercase() as usize] = weight;
        at += 1;
    }
    weights
};

/// Names that weigh the same are told apart by where their `'` and `-` stand.
fn minor(byte: u8) -> u8 {
    match byte {
        b'\'' => 2,
        b'-' => 3,
        _ => 0,
    }
}

pub fn compare(left: &str, right: &str) -> Ordering {
    by_weight(left.as_bytes(), right.as_bytes()).then_with(|| by_minor(left.as_bytes(), right.as_bytes()))
}

fn by_weight(left: &[u8], right: &[u8]) -> Ordering {
    let weighty =
        |bytes: &'_ [u8]| bytes.iter().map(|b| WEIGHTS[usize::from(*b)]).filter(|w| *w != 0).collect::<Vec<_>>();
    // Nearly always the first difference is between two characters that have weight: no need to filter.
    let same = left.iter().zip(right).take_while(|(l, r)| l == r).count();
    match (left.get(same), right.get(same)) {
        (Some(l), Some(r)) if WEIGHTS[usize::from(*l)] != 0 && WEIGHTS[usize::from(*r)] != 0 => {
            match WEIGHTS[usize::from(*l)].cmp(&WEIGHTS[usize::from(*r)]) {
                Ordering::Equal => weighty(&left[same..]).cmp(&weighty(&right[same..])),
                unequal @ (Ordering::Less | Ordering::Greater) => unequal,
            }
        }
        _ => weighty(&left[same..]).cmp(&weighty(&right[same..])),
    }
}

/// The name whose first differing mark comes later is the lesser.
fn by_minor(left: &[u8], right: &[u8]) -> Ordering {
    let mark = |bytes: &[u8], at: usize| bytes.get(at).map_or(END, |byte| minor(*byte));
    for at in 0..=left.len().max(right.len()) {
        match (mark(left, at), mark(right, at)) {
            (l, r) if l == r => {}
            (0, _) => return Ordering::Less,
            (_, 0) => return Ordering::Greater,
            (l, r) => return l.cmp(&r),
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `_storage_header_sort` of azure-storage-blob 12.31.1.
    #[test]
    fn sorts_as_the_python_client_does() {
        for sorted in SORTED {
            let mut names = sorted.to_vec();
            names.sort_unstable();
            names.sort_by(|l, r| compare(l, r));
            assert_eq!(&names, sorted);
        }
    }

    const SORTED: &[&[&str]] = &[
        &[
            "x-ms-meta--",
            "x-ms-meta-!",
            "x-ms-meta-#",
            "x-ms-meta-$",
            "x-ms-meta-%",
            "x-ms-meta-&",
            "x-ms-meta-*",
            "x-ms-meta-.",
            "x-ms-meta-^",
            "x-ms-meta-_",
            "x-ms-meta-`",
            "x-ms-meta-|",
            "x-ms-meta-~",
            "x-ms-meta-+",
            "x-ms-meta-0",
            "x-ms-meta-1",
            "x-ms-meta-2",
            "x-ms-meta-3",
            "x-ms-meta-4",
            "x-ms-meta-5",
            "x-ms-meta-6",
            "x-ms-meta-7",
            "x-ms-meta-8",
            "x-ms-meta-9",
            "x-ms-meta-a",
            "x-ms-meta-b",
            "x-ms-meta-c",
            "x-ms-meta-x",
            "x-ms-meta-y",
            "x-ms-meta-z",
        ],
        &[
            "x-ms-blob-content-type",
            "x-ms-blob-type",
            "x-ms-client-request-id",
            "x-ms-copy-source",
            "x-ms-copy-source-authorization",
            "x-ms-date",
            "x-ms-version",
        ],
        &[
            "x-ms-meta-a",
            "x-ms-meta-a-",
            "x-ms-meta--a",
            "x-ms-meta-a_b",
            "x-ms-meta-a1",
            "x-ms-meta-aa",
            "x-ms-meta-a-a",
            "x-ms-meta-ab",
            "x-ms-meta-a-b",
        ],
        &[
            "x-ms-meta-'-",
            "x-ms-meta--",
            "x-ms-meta-.",
            "x-ms-meta-_'~b",
            "x-ms-meta-_a_'1",
            "x-ms-meta-1.~az",
            "x-ms-meta-a-",
            "x-ms-meta-z--aa",
        ],
        &[
            "x-ms-meta-.",
            "x-ms-meta-_'",
            "x-ms-meta-_-",
            "x-ms-meta-~_",
            "x-ms-meta--1",
            "x-ms-meta-1.",
            "x-ms-meta-a.'",
            "x-ms-meta-a.b",
        ],
        &[
            "x-ms-meta-.",
            "x-ms-meta-.~1zb",
            "x-ms-meta-.1z",
            "x-ms-meta-_b_z.",
            "x-ms-meta-a~'.",
            "x-ms-meta-a1",
            "x-ms-meta-aza-",
            "x-ms-meta--zz",
        ],
        &[
            "x-ms-meta-.-.1~",
            "x-ms-meta-.~",
            "x-ms-meta-.1a'b",
            "x-ms-meta-~'a_.",
            "x-ms-meta-1",
            "x-ms-meta-1-b",
            "x-ms-meta-1z",
            "x-ms-meta-ab",
        ],
        &[
            "x-ms-meta-._--",
            "x-ms-meta-a",
            "x-ms-meta-a'",
            "x-ms-meta-b-'.",
            "x-ms-meta-z'-",
            "x-ms-meta--z-",
            "x-ms-meta-zz.z1",
        ],
        &[
            "x-ms-meta-'",
            "x-ms-meta-.~1",
            "x-ms-meta-1~~~",
            "x-ms-meta-11.-",
            "x-ms-meta-az~1.",
            "x-ms-meta-b.a",
            "x-ms-meta--z.-b",
            "x-ms-meta-z1~",
        ],
    ];
}
