//! Doubles as .NET's round-trip format writes them: 15 digits if they say it all, else 17.

use std::fmt::Write as _;

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
    let short = format!("{value:.14e}");
    let (text, precision) = match short.parse::<f64>() {
        Ok(read) if read == value => (short, 15),
        Ok(_) | Err(_) => (format!("{value:.16e}"), 17),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    out.push_str(sign);
    if !(-4..precision).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let (mark, size) = if exponent < 0 { ('-', -exponent) } else { ('+', exponent) };
        let _ = write!(out, "{first}{point}{rest}E{mark}{size:02}");
    } else if exponent < 0 {
        let _ = write!(out, "0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            let _ = write!(out, "{digits}{}", "0".repeat(whole - digits.len()));
        } else {
            let _ = write!(out, "{}.{}", &digits[..whole], &digits[whole..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
