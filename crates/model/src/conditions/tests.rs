//! The truth tables of "Specifying conditional headers".
//!
//! A header is `+` when the blob meets it, `!` when it does not, `.` when it is not sent, `*` for the tag `*`.

use super::*;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(638_000_000_000_000_000).plus_seconds(seconds)
}

fn etag(number: u64) -> ETag {
    ETag::of(Timestamp::from_ticks(number))
}

/// The blob of every table: ETag 1, written half a second after `at(100)`.
fn blob(tags: &Tags) -> Seen<'_> {
    Seen { etag: etag(1), modified: Timestamp::from_ticks(at(100).ticks() + 5_000_000), tags }
}

fn tag_header(sign: char, met: u64, unmet: u64) -> Option<Match> {
    match sign {
        '.' => None,
        '*' => Some(Match::Any),
        '+' => Some(Match::OneOf(vec![Some(etag(met))])),
        '!' => Some(Match::OneOf(vec![Some(etag(unmet))])),
        other => panic!("no sign {other}"),
    }
}

fn date_header(sign: char, met: u64, unmet: u64) -> Option<Timestamp> {
    match sign {
        '.' => None,
        '+' => Some(at(met)),
        '!' => Some(at(unmet)),
        other => panic!("no sign {other}"),
    }
}

/// In the order of the tables: If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since.
fn conditions(signs: [char; 4]) -> Conditions {
    let [im, ius, inm, ims] = signs;
    Conditions {
        if_match: tag_header(im, 1, 2),
        if_unmodified_since: date_header(ius, 100, 99),
        if_none_match: tag_header(inm, 2, 1),
        if_modified_since: date_header(ims, 99, 100),
        if_tags: None,
    }
}

fn word(result: Result<(), Refusal>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(Refusal::NotModified) => "304",
        Err(Refusal::ConditionNotMet) => "412",
        Err(Refusal::BlobAlreadyExists) => "exists",
        Err(Refusal::UnsatisfiableCondition) => "unsatisfiable",
        Err(Refusal::MultipleConditionsNotSupported) => "multiple",
        Err(other) => panic!("{other:?}"),
    }
}

type Run<'a> = &'a dyn Fn(&Conditions) -> Result<(), Refusal>;

/// Each line: four signs, then one word for each column of `run`.
fn check<const N: usize>(table: &str, run: [Run<'_>; N]) {
    for line in table.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let (signs, expected) = words.split_at(4);
        let sign = |at: usize| signs[at].chars().next().unwrap();
        let conditions = conditions([sign(0), sign(1), sign(2), sign(3)]);
        assert_eq!(expected, run.map(|run| word(run(&conditions))), "{line}");
    }
}

#[test]
fn reads() {
    let tags = Tags::default();
    //  IM IUS INM IMS   there  absent
    check(
        "   .  .   .   .     ok     ok
            +  .   .   .     ok     412
            *  .   .   .     ok     412
            !  .   .   .     412    412
            .  +   .   .     ok     ok
            .  !   .   .     412    ok
            .  .   +   .     ok     ok
            .  .   !   .     304    ok
            .  .   .   +     ok     ok
            .  .   .   !     304    ok
            .  .   +   +     ok     ok
            .  .   +   !     ok     ok
            .  .   !   +     ok     ok
            .  .   !   !     304    ok
            +  +   .   .     ok     412
            +  !   .   .     412    412
            !  +   .   .     412    412
            +  .   !   .     304    412
            !  .   !   .     412    412
            .  !   .   !     412    ok
            .  !   !   !     412    ok
            +  +   !   !     304    412
            +  +   !   +     ok     412
            .  .   *   .     unsatisfiable unsatisfiable",
        [&|it| it.permit_read(Some(blob(&tags))), &|it| it.permit_read(None)],
    );
}

/// The same as a formula, over every combination: IM and IUS and (INM or IMS), 412 before 304.
#[test]
fn reads_by_the_formula() {
    let tags = Tags::default();
    let signs = ['.', '+', '!'];
    for n in 0..81 {
        let [im, ius, inm, ims] = [n % 3, n / 3 % 3, n / 9 % 3, n / 27].map(|at| signs[at]);
        let passes = |sign: char| sign != '!';
        let either = match (inm, ims) {
            ('.', sign) | (sign, '.') => passes(sign),
            (one, other) => passes(one) || passes(other),
        };
        let expected = match (passes(im) && passes(ius), either) {
            (false, _) => "412",
            (true, false) => "304",
            (true, true) => "ok",
        };
        let conditions = conditions([im, ius, inm, ims]);
        assert_eq!(word(conditions.permit_read(Some(blob(&tags)))), expected, "{im}{ius}{inm}{ims}");
    }
}

/// Rule A4 is the column of what is there, in the rows with a star.
#[test]
fn writes() {
    let tags = Tags::default();
    //  IM IUS INM IMS   there  absent replace  create
    check(
        "   .  .   .   .     ok     ok     ok       ok
            +  .   .   .     ok     412    ok       412
            *  .   .   .     ok     412    ok       412
            !  .   .   .     412    412    412      412
            .  +   .   .     ok     ok     ok       ok
            .  !   .   .     412    ok     412      ok
            .  .   +   .     ok     ok     ok       ok
            .  .   !   .     412    ok     412      ok
            .  .   *   .     ok     ok     exists   ok
            .  .   .   +     ok     ok     ok       ok
            .  .   .   !     412    ok     412      ok
            .  .   +   !     ok     ok     ok       ok
            .  .   !   +     412    ok     412      ok
            .  .   *   +     ok     ok     exists   ok
            .  .   *   !     ok     ok     exists   ok
            +  !   .   .     ok     412    ok       412
            !  +   .   .     412    412    412      412",
        [
            &|it| it.permit_write(Some(blob(&tags))),
            &|it| it.permit_write(None),
            &|it| it.permit_replace(Some(blob(&tags))),
            &|it| it.permit_replace(None),
        ],
    );
}

#[test]
fn which_headers_a_write_may_send_together() {
    for n in 0_u32..16 {
        let sign = |at: u32| if n >> at & 1 == 1 { '+' } else { '.' };
        let [im, ius, inm, ims] = [sign(0), sign(1), sign(2), sign(3)];
        let pair = matches!([im, ius, inm, ims], ['+', '+', '.', '.'] | ['.', '.', '+', '+']);
        let legal = n.count_ones() < 2 || pair;
        let result = conditions([im, ius, inm, ims]).permit_together();
        assert_eq!(word(result), if legal { "ok" } else { "multiple" }, "{im}{ius}{inm}{ims}");
    }
}

#[test]
fn lists_are_for_reads() {
    let list = Match::parse("\"0x2\", \"0x1\"");
    let tags = Tags::default();
    for conditions in [
        Conditions { if_match: Some(list.clone()), ..Conditions::default() },
        Conditions { if_none_match: Some(list.clone()), ..Conditions::default() },
    ] {
        assert_eq!(conditions.permit_together(), Err(Refusal::MultipleConditionsNotSupported));
    }
    let any = Conditions { if_match: Some(list.clone()), ..Conditions::default() };
    assert_eq!(any.permit_read(Some(blob(&tags))), Ok(()));
    let none = Conditions { if_none_match: Some(list), ..Conditions::default() };
    assert_eq!(none.permit_read(Some(blob(&tags))), Err(Refusal::NotModified));
}

#[test]
fn no_read_can_satisfy_none_match_any() {
    let star = Conditions { if_none_match: Some(Match::Any), ..Conditions::default() };
    assert_eq!(star.permit_read(Some(blob(&Tags::default()))), Err(Refusal::UnsatisfiableCondition));
    assert_eq!(star.permit_together(), Ok(()));
}

#[test]
fn dates_are_compared_by_the_second() {
    let tags = Tags::default();
    for (date, newer) in [(99, true), (100, false), (101, false)] {
        let since = Conditions { if_modified_since: Some(at(date)), ..Conditions::default() };
        assert_eq!(since.permit_write(Some(blob(&tags))).is_ok(), newer, "since {date}");
        let until = Conditions { if_unmodified_since: Some(at(date)), ..Conditions::default() };
        assert_eq!(until.permit_write(Some(blob(&tags))).is_ok(), !newer, "until {date}");
    }
}

#[test]
fn tag_conditions_join_the_others() {
    let tags = Tags::parse_query("a=1").unwrap();
    let when = |text: &str| Conditions { if_tags: Some(TagCondition::parse(text).unwrap()), ..Conditions::default() };
    let (met, unmet) = (when("a='1'"), when("a='2'"));
    assert_eq!(word(met.permit_read(Some(blob(&tags)))), "ok");
    assert_eq!(word(met.permit_write(Some(blob(&tags)))), "ok");
    assert_eq!(word(unmet.permit_read(Some(blob(&tags)))), "412");
    assert_eq!(word(unmet.permit_write(Some(blob(&tags)))), "412");
    // 412 before 304, and before BlobAlreadyExists.
    let also_304 = Conditions { if_none_match: tag_header('!', 2, 1), ..unmet.clone() };
    assert_eq!(word(also_304.permit_read(Some(blob(&tags)))), "412");
    let also_exists = Conditions { if_none_match: Some(Match::Any), ..unmet };
    assert_eq!(word(also_exists.permit_replace(Some(blob(&tags)))), "412");
    // An absent blob has no tags: it can be created only if that satisfies the condition, and is else just absent.
    assert_eq!(word(met.permit_replace(None)), "412");
    assert_eq!(word(met.permit_write(None)), "ok");
}

#[test]
fn headers_as_they_are_written() {
    let one = |number| Match::OneOf(vec![Some(etag(number))]);
    let table = [
        ("*", Match::Any),
        (" * ", Match::Any),
        ("\"0x1\"", one(1)),
        ("0x1", one(1)),
        ("0x111111111111111", one(0x111_1111_1111_1111)),
        ("W/\"0x1\"", Match::OneOf(vec![None])),
        ("\"0x1\",\"0x2\"", Match::OneOf(vec![Some(etag(1)), Some(etag(2))])),
        ("\"a,b\", 0x2", Match::OneOf(vec![None, Some(etag(2))])),
        ("nonsense", Match::OneOf(vec![None])),
        ("", Match::OneOf(vec![None])),
        ("*, \"0x1\"", Match::OneOf(vec![None, Some(etag(1))])),
    ];
    for (text, expected) in table {
        assert_eq!(Match::parse(text), expected, "{text}");
    }
}
