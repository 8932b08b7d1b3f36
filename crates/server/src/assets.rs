//! The page of the console: the files that `console/` is built into, kept compressed in the binary. Held true: the page may load what this server serves and
//! nothing else, runs no script that is not a file of its own, and is never shown inside another page.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

/// Preact sets styles one by one and images are drawn from bytes that the page fetched itself: no inline style, no `data:`, no `eval`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types xml";

struct Asset {
    path: &'static str,
    kind: &'static str,
    /// gzip, as Node makes it: ten bytes of header, deflated content, its CRC-32 and its length.
    packed: &'static [u8],
}

macro_rules! asset {
    ($path:literal, $kind:literal, $file:literal) => {
        Asset { path: $path, kind: $kind, packed: include_bytes!(concat!("../../../console/dist/", $file, ".gz")) }
    };
}

const ASSETS: &[Asset] = &[
    asset!("/", "text/html; charset=utf-8", "index.html"),
    asset!("/console/console.js", "text/javascript; charset=utf-8", "console.js"),
    asset!("/console/console.css", "text/css; charset=utf-8", "console.css"),
    asset!("/console/icon.svg", "image/svg+xml", "icon.svg"),
];

const GZIP_HEADER: usize = 10;
const GZIP_TRAILER: usize = 8;

/// The file at `path`, if the page has one there.
pub fn answer(path: &str, headers: &HeaderMap) -> Option<Response<Full<Bytes>>> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let tag = asset.tag();
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let takes_gzip = headers.get(ACCEPT_ENCODING).is_some_and(accepts_gzip);
    let body = match (is_known, takes_gzip) {
        (true, _) => Bytes::new(),
        (false, true) => Bytes::from_static(asset.packed),
        (false, false) => asset.unpacked(),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let said = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, asset.kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
        (VARY, "Accept-Encoding"),
    ] {
        said.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        said.insert(ETAG, tag);
    }
    if takes_gzip && !is_known {
        said.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Some(response)
}

impl Asset {
    /// From the checksum and the length of the content, which end a gzip file.
    fn tag(&self) -> String {
        let trailer = self.packed.last_chunk::<GZIP_TRAILER>().copied().unwrap_or_default();
        format!("\"{:016x}\"", u64::from_le_bytes(trailer))
    }

    fn unpacked(&self) -> Bytes {
        let deflated = self.packed.get(GZIP_HEADER..self.packed.len().saturating_sub(GZIP_TRAILER)).unwrap_or_default();
        miniz_oxide::inflate::decompress_to_vec(deflated).map(Bytes::from).unwrap_or_default()
    }
}

/// Whether gzip is among the encodings, and not with a weight of 0.
fn accepts_gzip(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    text.split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(hyper::header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn every_asset_unpacks_and_the_page_names_only_these() {
        for asset in ASSETS {
            let size = u32::from_le_bytes(*asset.packed.last_chunk().unwrap()) as usize;
            assert_eq!(asset.unpacked().len(), size, "{}", asset.path);
            assert_eq!(&asset.packed[..4], b"\x1f\x8b\x08\x00", "{}: gzip without extras", asset.path);
        }
        let page = String::from_utf8(ASSETS[0].unpacked().to_vec()).unwrap();
        let named: Vec<&str> = page.split('"').filter(|text| text.starts_with('/')).collect();
        assert_eq!(named, ["/console/icon.svg", "/console/console.css", "/console/console.js"]);
        assert!(named.iter().all(|path| ASSETS.iter().any(|asset| asset.path == *path)));
        assert!(!page.contains("<style") && !page.contains("<script>"), "nothing inline");
    }

    #[test]
    fn a_first_visit_costs_little() {
        let wire: usize = ASSETS.iter().map(|asset| asset.packed.len()).sum();
        assert!(wire <= 200 << 10, "{wire} bytes");
    }

    #[test]
    fn what_is_known_is_not_sent_again() {
        let gzip = headers(&[(ACCEPT_ENCODING, "br;q=1.0, gzip")]);
        let first = answer("/", &gzip).unwrap();
        assert_eq!((first.status(), first.headers()[CONTENT_ENCODING].as_bytes()), (StatusCode::OK, &b"gzip"[..]));
        let tag = first.headers()[ETAG].to_str().unwrap().to_owned();
        let again = answer("/", &headers(&[(ACCEPT_ENCODING, "gzip"), (IF_NONE_MATCH, &tag)])).unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        for refuses in ["", "identity", "gzip;q=0", "x-gzip"] {
            let plain = answer("/", &headers(&[(ACCEPT_ENCODING, refuses)])).unwrap();
            assert!(!plain.headers().contains_key(CONTENT_ENCODING), "{refuses}");
        }
        assert!(answer("/console/", &gzip).is_none() && answer("/index.html", &gzip).is_none());
    }

    #[test]
    fn the_policy_allows_nothing_inline_and_nobody_else() {
        let page = answer("/", &HeaderMap::new()).unwrap();
        let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        for no in ["unsafe", "*", "data:", "http"] {
            assert!(!policy.contains(no), "{no} in {policy}");
        }
    }
}
