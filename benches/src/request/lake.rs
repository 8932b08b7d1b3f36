//! Requests of the Data Lake API, to a file system of the development account, which has a hierarchical namespace there.

use super::{ACCOUNT, DIGITS, Digits, Request, Right, behind, encode, request, sas};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

pub struct FileSystem<'a>(pub &'a str);

/// Of whom a request is.
#[derive(Clone, Copy)]
pub enum By {
    /// The account SAS, which access control lists do not bind.
    Sas,
    /// The object id in a bearer token, for a server that takes tokens nobody signed.
    Token(&'static str),
}

impl FileSystem<'_> {
    pub fn create(&self) -> Request {
        self.ask("PUT", "", "resource=filesystem", "Content-Length: 0\r\n", 201)
    }

    /// `headers` are whole lines.
    pub fn create_directory(&self, path: &str, headers: &str) -> Request {
        self.ask("PUT", path, "resource=directory", &format!("{headers}Content-Length: 0\r\n"), 201)
    }

    pub fn create_file(&self, path: &str, headers: &str) -> Request {
        self.ask("PUT", path, "resource=file", &format!("{headers}Content-Length: 0\r\n"), 201)
    }

    /// Of the root directory.
    pub fn set_access_control(&self, list: &str) -> Request {
        let extra = format!("x-ms-acl: {list}\r\nContent-Length: 0\r\n");
        self.ask("PATCH", "/", "action=setAccessControl", &extra, 200)
    }

    /// A new empty file in a directory, at each request.
    pub fn create_files(&self, directory: &str) -> Request {
        let before = format!("/{ACCOUNT}/{}{directory}/n", self.0);
        let digits = vec![Digits::name("PUT ".len() + before.len())];
        let target = format!("{before}{}?resource=file&{}", "0".repeat(DIGITS), sas());
        Request { digits, ..request("PUT", &target, "Content-Length: 0\r\n", 201) }
    }

    /// One of `population` files.
    pub fn stat(&self, directory: &str, population: u64) -> Request {
        let before = format!("/{ACCOUNT}/{}{directory}/n", self.0);
        let digits = vec![Digits::name("HEAD ".len() + before.len())];
        let request = request("HEAD", &format!("{before}{}?{}", "0".repeat(DIGITS), sas()), "", 200);
        Request { digits, population: Some(population), scattered: true, headless_reply: true, ..request }
    }

    pub fn stat_one(&self, path: &str, by: By) -> Request {
        let request = match by {
            By::Sas => self.ask("HEAD", path, "", "", 200),
            By::Token(oid) => {
                let extra = format!("Authorization: Bearer {}\r\n", token(oid));
                request("HEAD", &format!("/{ACCOUNT}/{}{path}", self.0), &extra, 200)
            }
        };
        Request { headless_reply: true, ..request }
    }

    /// The first page of a directory of `count` files.
    pub fn list(&self, directory: &str, page: u64, count: u64) -> Request {
        let query = format!("{}&maxResults={page}", Self::listed(directory));
        Request { right: Right::Members("name", page.min(count)), ..self.ask("GET", "", &query, "", 200) }
    }

    /// Any page of a directory of `count` files: it begins with one of them.
    pub fn list_from(&self, directory: &str, page: u64, count: u64) -> Request {
        const BEFORE: &str = "beginFrom=n";
        let zeros = "0".repeat(DIGITS);
        let query = format!("{}&maxResults={page}&{BEFORE}{zeros}", Self::listed(directory));
        let request = self.ask("GET", "", &query, "", 200);
        let digits = vec![Digits::name(behind(&request.head, BEFORE))];
        let (population, right) = (Some(count + 1 - page.min(count)), Right::Members("name", page.min(count)));
        Request { digits, population, right, scattered: true, ..request }
    }

    /// The query of a list, to which the page and where it goes on are to be added.
    pub fn listed(directory: &str) -> String {
        format!("resource=filesystem&recursive=false&directory={}", encode(directory.trim_start_matches('/')))
    }

    pub fn rename(&self, from: &str, to: &str) -> Request {
        let extra = format!("x-ms-rename-source: /{}{from}?{}\r\nContent-Length: 0\r\n", self.0, sas());
        self.ask("PUT", to, "", &extra, 201)
    }

    pub fn delete_directory(&self, path: &str) -> Request {
        self.ask("DELETE", path, "recursive=true", "", 200)
    }

    fn ask(&self, method: &str, path: &str, query: &str, extra: &str, status: u16) -> Request {
        let and = if query.is_empty() { "" } else { "&" };
        request(method, &format!("/{ACCOUNT}/{}{path}?{query}{and}{}", self.0, sas()), extra, status)
    }
}

/// As `--oauth basic` takes them.
fn token(oid: &str) -> String {
    const TENANT: &str = "00000000-0000-0000-0000-000000000000";
    let claims = format!(
        "{{\"iss\":\"https://sts.windows.net/{TENANT}/\",\"aud\":\"https://storage.azure.com\",\"nbf\":0,\"exp\":4102444800,\
         \"oid\":\"{oid}\",\"tid\":\"{TENANT}\"}}"
    );
    let [head, claims] =
        ["{\"alg\":\"none\",\"typ\":\"JWT\"}", &claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
    format!("{head}.{claims}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_lands_where_a_page_begins() {
        let request = FileSystem("lake").list_from("/many", 10, 100);
        let mut head = request.head.clone();
        request.set_number(&mut head, 3);
        let at = 3_u64.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 91;
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains(&format!("directory=many&maxResults=10&beginFrom=n{at:010}&")), "{head}");
    }
}
