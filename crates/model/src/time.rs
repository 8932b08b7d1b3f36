//! Points in time as ticks of 100 ns since 0001-01-01 UTC, and the two ways the protocol writes them.
//!
//! Both forms are four-digit years, so anything later prints as the last tick of 9999. Printing is on every answer's
//! path: it fills a fixed buffer, and does not go through the formatter.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(u64);

pub const TICKS_PER_SECOND: u64 = 10_000_000;
const SECONDS_PER_DAY: u64 = 86_400;
/// The first tick of year 10,000.
const END: u64 = days_before(10_000, 1, 1) * SECONDS_PER_DAY * TICKS_PER_SECOND;

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Timestamp {
    /// 1601-01-01, where Windows begins to count.
    pub const WINDOWS_EPOCH: Timestamp = Timestamp(days_before(1601, 1, 1) * SECONDS_PER_DAY * TICKS_PER_SECOND);

    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Without the fraction: what an HTTP date can carry.
    pub fn whole_seconds(self) -> Self {
        Self(self.0 - self.0 % TICKS_PER_SECOND)
    }

    pub fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(TICKS_PER_SECOND)))
    }

    /// Whole seconds until `later`, rounded up: a client that waits so long has waited long enough.
    pub fn seconds_until(self, later: Timestamp) -> u64 {
        later.0.saturating_sub(self.0).div_ceil(TICKS_PER_SECOND)
    }

    /// Full seconds until `later`; 0 if that is not later.
    pub fn whole_seconds_until(self, later: Timestamp) -> u64 {
        later.0.saturating_sub(self.0) / TICKS_PER_SECOND
    }

    /// `Thu, 21 Jul 2022 23:53:15 GMT`
    pub fn to_http(self) -> String {
        let at = Parts::of(self);
        let mut text = *b"Ddd, 00 Mmm 0000 00:00:00 GMT";
        text[0..3].copy_from_slice(&DAYS[at.weekday].as_bytes()[..3]);
        text[8..11].copy_from_slice(MONTHS[at.month as usize - 1].as_bytes());
        digits(&mut text[5..7], at.day);
        digits(&mut text[12..16], at.year);
        at.clock(&mut text[17..25]);
        ascii(&text)
    }

    /// Any of the three HTTP date forms. The name of the day is read, and not compared with the date.
    pub fn parse_http(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.split_once(',') {
            Some((day, rest)) if is_day(day, 3) => parse_rfc1123(rest.strip_prefix(' ')?),
            Some((day, rest)) if is_day(day, usize::MAX) => parse_rfc850(rest.strip_prefix(' ')?),
            Some(_) => None,
            None => parse_asctime(text),
        }
    }

    /// `2022-07-21T23:53:15.1234567Z`
    pub fn to_iso(self) -> String {
        ascii(&self.iso())
    }

    fn iso(self) -> [u8; 28] {
        let at = Parts::of(self);
        let mut text = *b"0000-00-00T00:00:00.0000000Z";
        digits(&mut text[0..4], at.year);
        digits(&mut text[5..7], at.month);
        digits(&mut text[8..10], at.day);
        at.clock(&mut text[11..19]);
        digits(&mut text[20..27], at.fraction);
        text
    }

    /// `2022-07-21T23:53:15Z`: the form of SAS fields, keys and error details.
    pub fn to_iso_seconds(self) -> String {
        let mut text = self.to_iso();
        text.truncate(19);
        text.push('Z');
        text
    }

    /// `2022-07-21T23:53:15.12Z`: as many digits of fraction as there is something to say, and no point without any.
    pub fn to_iso_short(self) -> String {
        let mut text = String::with_capacity(28);
        self.write_iso_short(&mut text);
        text
    }

    /// The same at the end of `out`.
    pub fn write_iso_short(self, out: &mut String) {
        let text = self.iso();
        // The seconds end at 19: zeros before that are not of the fraction.
        let said = text[..27].iter().rposition(|byte| *byte != b'0' && *byte != b'.').map_or(19, |last| last + 1);
        out.push_str(std::str::from_utf8(&text[..said.max(19)]).expect("digits are ASCII"));
        out.push('Z');
    }

    /// ISO 8601 in the forms that SAS, policies and snapshots use: a date; a date with minutes, seconds, or up to seven
    /// digits of fraction; `Z` or an offset.
    pub fn parse_iso(text: &str) -> Option<Self> {
        let (date, time) = match text.split_once('T') {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let (year, rest) = date.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
        let Some(time) = time else {
            return instant(year, month, day, [0, 0, 0], 0);
        };
        let (clock, offset_minutes) = split_zone(time)?;
        let (clock, fraction) = match clock.split_once('.') {
            Some((clock, fraction)) if clock.len() == 8 => (clock, parse_fraction(fraction)?),
            Some(_) => return None,
            None => (clock, 0),
        };
        let clock = if clock.len() == 5 { parse_minutes(clock)? } else { parse_clock(clock)? };
        let local = instant(year, month, day, clock, fraction)?;
        let shift = offset_minutes.unsigned_abs() * 60 * TICKS_PER_SECOND;
        let ticks = if offset_minutes < 0 { local.0.checked_add(shift)? } else { local.0.checked_sub(shift)? };
        (ticks < END).then_some(Self(ticks))
    }
}

/// A point in time, taken apart for printing.
struct Parts {
    year: u32,
    month: u32,
    day: u32,
    weekday: usize,
    second_of_day: u32,
    fraction: u32,
}

impl Parts {
    fn of(at: Timestamp) -> Self {
        let ticks = at.0.min(END - 1);
        let seconds = ticks / TICKS_PER_SECOND;
        let days = seconds / SECONDS_PER_DAY;
        let (year, month, day) = civil(days);
        Self {
            year,
            month,
            day,
            weekday: (days % 7) as usize, // 0001-01-01 was a Monday
            second_of_day: (seconds % SECONDS_PER_DAY) as u32,
            fraction: (ticks % TICKS_PER_SECOND) as u32,
        }
    }

    /// `23:53:15`
    fn clock(&self, into: &mut [u8]) {
        digits(&mut into[0..2], self.second_of_day / 3600);
        digits(&mut into[3..5], self.second_of_day / 60 % 60);
        digits(&mut into[6..8], self.second_of_day % 60);
    }
}

/// The days from 0001-01-01 to a date of the proleptic Gregorian calendar. The year is taken to begin in March, so
/// that the leap day is its last.
const fn days_before(year: u32, month: u32, day: u32) -> u64 {
    let (year, month) = if month > 2 { (year as u64, month as u64 - 3) } else { (year as u64 - 1, month as u64 + 9) };
    let in_year = (153 * month + 2) / 5 + day as u64 - 1;
    // 306 days lie between 0000-03-01 and 0001-01-01.
    year * 365 + year / 4 - year / 100 + year / 400 + in_year - 306
}

/// The inverse of [`days_before`].
fn civil(days: u64) -> (u32, u32, u32) {
    let days = days + 306;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        if month < 10 { (era * 400 + year_of_era, month + 3) } else { (era * 400 + year_of_era + 1, month - 9) };
    (year as u32, month as u32, day as u32)
}

fn days_in(year: u32, month: u32) -> u32 {
    let next = if month == 12 { days_before(year + 1, 1, 1) } else { days_before(year, month + 1, 1) };
    (next - days_before(year, month, 1)) as u32
}

fn instant(year: u32, month: u32, day: u32, [hour, minute, second]: [u32; 3], fraction: u32) -> Option<Timestamp> {
    let real = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    real.then(|| {
        let seconds = days_before(year, month, day) * SECONDS_PER_DAY + u64::from(hour * 3600 + minute * 60 + second);
        Timestamp(seconds * TICKS_PER_SECOND + u64::from(fraction))
    })
}

/// `21 Jul 2022 23:53:15 GMT`
fn parse_rfc1123(text: &str) -> Option<Timestamp> {
    let mut words = text.split(' ');
    let (day, month, year) = (number(words.next()?, 2)?, month(words.next()?)?, number(words.next()?, 4)?);
    finish_http(words, year, month, day)
}

/// `21-Jul-22 23:53:15 GMT`. Two digits of year mean 1950–2049, as .NET reads them.
fn parse_rfc850(text: &str) -> Option<Timestamp> {
    let mut words = text.split(' ');
    let mut date = words.next()?.split('-');
    let (day, month, year) = (number(date.next()?, 2)?, month(date.next()?)?, number(date.next()?, 2)?);
    date.next().is_none().then_some(())?;
    finish_http(words, if year < 50 { 2000 + year } else { 1900 + year }, month, day)
}

fn finish_http<'a>(mut words: impl Iterator<Item = &'a str>, year: u32, month: u32, day: u32) -> Option<Timestamp> {
    let clock = parse_clock(words.next()?)?;
    let ends = words.next()? == "GMT" && words.next().is_none();
    ends.then(|| instant(year, month, day, clock, 0))?
}

/// `Thu Jul 21 23:53:15 2022`; a day below ten is padded with a space.
fn parse_asctime(text: &str) -> Option<Timestamp> {
    let mut words = text.split_ascii_whitespace();
    is_day(words.next()?, 3).then_some(())?;
    let (month, day) = (month(words.next()?)?, words.next()?);
    let day = number(day, day.len().min(2))?;
    let (clock, year) = (parse_clock(words.next()?)?, number(words.next()?, 4)?);
    words.next().is_none().then(|| instant(year, month, day, clock, 0))?
}

fn is_day(text: &str, length: usize) -> bool {
    DAYS.iter().any(|day| day[..length.min(day.len())].eq_ignore_ascii_case(text))
}

fn month(text: &str) -> Option<u32> {
    MONTHS.iter().position(|month| month.eq_ignore_ascii_case(text)).map(|at| at as u32 + 1)
}

/// `23:53:15`
fn parse_clock(text: &str) -> Option<[u32; 3]> {
    let (minutes, seconds) = text.rsplit_once(':')?;
    let [hour, minute, _] = parse_minutes(minutes)?;
    Some([hour, minute, number(seconds, 2)?])
}

/// `23:53`
fn parse_minutes(text: &str) -> Option<[u32; 3]> {
    let (hour, minute) = text.split_once(':')?;
    Some([number(hour, 2)?, number(minute, 2)?, 0])
}

fn parse_fraction(text: &str) -> Option<u32> {
    let length = text.len();
    (1..=7).contains(&length).then(|| Some(number(text, length)? * 10_u32.pow(7 - length as u32)))?
}

/// What precedes the zone, and the zone's offset in minutes.
fn split_zone(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let at = time.find(['+', '-'])?;
    let (clock, zone) = time.split_at(at);
    let [hours, minutes, _] = parse_minutes(&zone[1..])?;
    let real = hours <= 14 && minutes < 60;
    let offset = i64::from(hours * 60 + minutes);
    real.then_some((clock, if zone.starts_with('-') { -offset } else { offset }))
}

/// A number of exactly `length` digits.
fn number(text: &str, length: usize) -> Option<u32> {
    let well_formed = length > 0 && text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    well_formed.then(|| text.parse().ok())?
}

fn digits(into: &mut [u8], mut value: u32) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn ascii(bytes: &[u8]) -> String {
    debug_assert!(bytes.is_ascii());
    str::from_utf8(bytes).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2022-07-21T23:53:15.1234567Z, as .NET counts it.
    const JULY: u64 = 637_940_443_951_234_567;

    #[test]
    fn prints_both_forms() {
        let table = [
            (JULY, "Thu, 21 Jul 2022 23:53:15 GMT", "2022-07-21T23:53:15.1234567Z"),
            (0, "Mon, 01 Jan 0001 00:00:00 GMT", "0001-01-01T00:00:00.0000000Z"),
            (621_355_968_000_000_000, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.0000000Z"),
            (630_874_655_990_000_000, "Tue, 29 Feb 2000 23:59:59 GMT", "2000-02-29T23:59:59.0000000Z"),
            (3_155_378_975_999_999_999, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.9999999Z"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.9999999Z"),
        ];
        for (ticks, http, iso) in table {
            let at = Timestamp(ticks);
            assert_eq!((at.to_http().as_str(), at.to_iso().as_str()), (http, iso), "{ticks}");
        }
        assert_eq!(Timestamp(JULY).to_iso_seconds(), "2022-07-21T23:53:15Z");
    }

    #[test]
    fn reads_the_three_http_forms() {
        let whole = Timestamp(JULY).whole_seconds();
        let good = [
            "Thu, 21 Jul 2022 23:53:15 GMT",
            " Thu, 21 Jul 2022 23:53:15 GMT ",
            "thu, 21 jul 2022 23:53:15 GMT",
            "Thursday, 21-Jul-22 23:53:15 GMT",
            "Thu Jul 21 23:53:15 2022",
        ];
        for text in good {
            assert_eq!(Timestamp::parse_http(text), Some(whole), "{text}");
        }
        let padded = Timestamp::parse_http("Fri Jul  1 00:00:00 2022").map(Timestamp::to_http);
        assert_eq!(padded.as_deref(), Some("Fri, 01 Jul 2022 00:00:00 GMT"));
        let bad = [
            "",
            "yesterday",
            "Thu, 21 Jul 2022 23:53:15",
            "Thu, 21 Jul 2022 23:53:15 GMT x",
            "Thu, 21 Jul 2022 24:53:15 GMT",
            "Thu, 31 Jun 2022 23:53:15 GMT",
            "Thu, 29 Feb 2021 23:53:15 GMT",
            "Thu, +1 Jul 2022 23:53:15 GMT",
            "Xyz, 21 Jul 2022 23:53:15 GMT",
            "Thu, 21 Jul 2022 23:53:15 EST",
            "Thü, 21 Jul 2022 23:53:15 GMT",
            "Thu, 21 Jul 0000 23:53:15 GMT",
        ];
        for text in bad {
            assert_eq!(Timestamp::parse_http(text), None, "{text}");
        }
    }

    #[test]
    fn reads_the_iso_forms() {
        let table = [
            ("2020-01-01", "2020-01-01T00:00:00.0000000Z"),
            ("2020-01-01T10:30Z", "2020-01-01T10:30:00.0000000Z"),
            ("2020-01-01T10:30:05Z", "2020-01-01T10:30:05.0000000Z"),
            ("2020-01-01T10:30:05.5Z", "2020-01-01T10:30:05.5000000Z"),
            ("2020-01-01T10:30:05.1234567Z", "2020-01-01T10:30:05.1234567Z"),
            ("2020-01-01T10:30+02:00", "2020-01-01T08:30:00.0000000Z"),
            ("2020-01-01T10:30:05-08:00", "2020-01-01T18:30:05.0000000Z"),
            ("2020-02-29T23:30:00-01:00", "2020-03-01T00:30:00.0000000Z"),
        ];
        for (text, expected) in table {
            assert_eq!(Timestamp::parse_iso(text).map(Timestamp::to_iso).as_deref(), Some(expected), "{text}");
        }
        let bad = [
            "",
            "2020",
            "2020-1-1",
            "2020-13-01",
            "2020-02-30",
            "2020-01-01T",
            "2020-01-01T10Z",
            "2020-01-01T10:30",
            "2020-01-01T10:30:05",
            "2020-01-01T10:30.5Z",
            "2020-01-01T10:30:05.Z",
            "2020-01-01T10:30:05.12345678Z",
            "2020-01-01T10:30:05+15:00",
            "2020-01-01T10:30:05+é:00",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
        ];
        for text in bad {
            assert_eq!(Timestamp::parse_iso(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_ten_thousand_years_comes_back() {
        let days = END / TICKS_PER_SECOND / SECONDS_PER_DAY;
        let mut before = (0, 12, 31);
        for day in 0..days {
            let (year, month, of_month) = civil(day);
            assert_eq!(days_before(year, month, of_month), day);
            assert!((year, month, of_month) > before && of_month <= days_in(year, month));
            before = (year, month, of_month);
        }
        assert_eq!(before, (9999, 12, 31));
    }

    #[test]
    fn waiting_is_rounded_up() {
        let at = |ticks| Timestamp::from_ticks(ticks);
        for (from, to, seconds) in [(0, 0, 0), (0, 1, 1), (0, TICKS_PER_SECOND, 1), (1, TICKS_PER_SECOND, 1), (5, 0, 0)]
        {
            assert_eq!(at(from).seconds_until(at(to)), seconds);
        }
    }
}
