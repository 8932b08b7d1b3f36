//! Doubles as .NET's round-trip format writes them: 15 digits if they say it all, else 17.

use std::fmt::Write as _;

/// A whole number.
pub fn whole(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    let (mut rest, mut digits, mut at) = (value.unsigned_abs(), [b'0'; 20], 20);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// Writes what has few digits, which is most of what there is: up to ten before the point, and four behind it. Such a number is
/// what the division of its digits by a power of ten gives, which is exact to the last bit; and no two numbers of up to
/// 15 digits are the same double, so no shorter one says it.
fn short(out: &mut String, value: f64) -> bool {
    if value.abs() >= 1e10 || value == 0.0 {
        return false;
    }
    for (digits, power) in [1.0, 10.0, 100.0, 1_000.0, 10_000.0].into_iter().enumerate() {
        let scaled = (value * power).round();
        if scaled / power == value && scaled != 0.0 {
            let (scaled, power) = (scaled as i64, power as i64);
            if scaled < 0 {
                out.push('-');
            }
            let scaled = scaled.abs();
            whole(out, scaled / power);
            if digits > 0 {
                out.push('.');
                let rest = scaled % power;
                (1..digits as u32).filter(|at| rest < 10_i64.pow(*at)).for_each(|_| out.push('0'));
                whole(out, rest);
            }
            return true;
        }
    }
    false
}

/// As JSON has it: with a point, so that it is seen to be a double.
pub fn json(out: &mut String, value: f64) {
    let start = out.len();
    plain(out, value);
    if !out[start..].contains(['.', 'E']) {
        out.push_str(".0");
    }
}

/// As XML has it. Finite values only.
pub fn plain(out: &mut String, value: f64) {
    if !short(out, value) {
        long(out, value);
    }
}

fn long(out: &mut String, value: f64) {
    // The shortest digits that say it all are those of the 15, without the zeros at the end, if there are no more of them.
    let mut text = format!("{value:e}");
    let mut precision = 15;
    if text.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count() > 15 {
        text = format!("{value:.16e}");
        precision = 17;
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let rest = rest.trim_end_matches('0');
    out.push_str(sign);
    if !(-4..precision).contains(&exponent) {
        let point = if rest.is_empty() { "" } else { "." };
        let (mark, size) = if exponent < 0 { ('-', -exponent) } else { ('+', exponent) };
        let _ = write!(out, "{first}{point}{rest}E{mark}{size:02}");
    } else if exponent < 0 {
        out.push_str("0.");
        zeros(out, (-exponent - 1) as usize);
        out.push_str(first);
        out.push_str(rest);
    } else {
        // So many digits of the rest stand before the point.
        let whole = exponent as usize;
        out.push_str(first);
        if rest.len() <= whole {
            out.push_str(rest);
            zeros(out, whole - rest.len());
        } else {
            out.push_str(&rest[..whole]);
            out.push('.');
            out.push_str(&rest[whole..]);
        }
    }
}

fn zeros(out: &mut String, count: usize) {
    (0..count).for_each(|_| out.push('0'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_written_as_long_ones_are() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut shorts = 0;
        for _ in 0..200_000 {
            let whole = random() % 10_u64.pow((random() % 16) as u32);
            let value = whole as f64 / 10_f64.powi((random() % 8) as i32);
            for value in [value, -value, f64::from_bits(value.to_bits() ^ 1), f64::from_bits(random() << 11)] {
                let (mut one, mut other) = (String::new(), String::new());
                if value.is_finite() && short(&mut one, value) {
                    shorts += 1;
                    long(&mut other, value);
                    assert_eq!(one, other);
                }
            }
        }
        assert!(shorts > 100_000, "{shorts}");
    }

    #[test]
    fn whole_numbers() {
        for value in [0, 7, -7, 10, 1_000_000, i64::MAX, i64::MIN] {
            let mut out = String::new();
            whole(&mut out, value);
            assert_eq!(out, value.to_string());
        }
    }

    #[test]
    fn doubles_as_dotnet_prints_them() {
        let table = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (3.0, "3.0"),
            (3.1, "3.1"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (0.30000000000000004, "0.30000000000000004"),
            (1e14, "100000000000000.0"),
            (1e15, "1E+15"),
            (1.5e20, "1.5E+20"),
            (0.00001, "1E-05"),
            (0.0001, "0.0001"),
            (123456.789, "123456.789"),
            (1234567890123456.0, "1234567890123456.0"),
            (12345678901234567.0, "12345678901234568.0"),
            (-0.00012345, "-0.00012345"),
            (1.0 / 3.0, "0.33333333333333331"),
            (f64::MAX, "1.7976931348623157E+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
        ];
        for (value, expected) in table {
            let mut out = String::new();
            json(&mut out, value);
            assert_eq!(out, expected);
            assert_eq!(out.parse::<f64>().unwrap(), value);
        }
    }
}
