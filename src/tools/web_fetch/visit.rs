//! One visit to a page: connecting where it was checked, following redirects inside one site,
//! reading no more than there is room for.

use std::time::Duration;

use futures::StreamExt;
use reqwest::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, LOCATION,
};
use reqwest::{Response, Url};
use serde_json::json;

use super::address::{self, Closed, Door, Pinned, is_named};
use super::page::{self, Kind, amount};
use crate::model::http::{all_causes, client};
use crate::permission::{Access, Decision, View, decide};

const MOST_REDIRECTS: usize = 10;
/// Of a page that tells of an error, so many bytes are read and so many characters shown.
const REFUSAL_BYTES: usize = 16 * 1024;
const REFUSAL_WORDS: usize = 500;

const WANTED: &str =
    "text/html, text/markdown;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error(transparent)]
    Closed(#[from] Closed),
    #[error("cannot reach {host}: {why}")]
    Unreachable { host: String, why: String },
    #[error("the server answers with status {status}{words}")]
    Status { status: u16, words: String },
    #[error("more than {MOST_REDIRECTS} redirects, the last to {0}")]
    Circle(Url),
    #[error("it redirects (status {status}) to something that is not a web address: {to}")]
    Nowhere { status: u16, to: String },
    #[error("it redirects to {to}, which is not allowed: {why}")]
    Denied { to: Url, why: String },
    #[error("it is {kind}, {size}, and no text; WebFetch reads text only")]
    Binary { kind: String, size: String },
    #[error("the server sends it compressed ({0}) without being asked to")]
    Compressed(String),
    #[error("its text could not be read")]
    Unreadable,
    #[error("it took longer than {0:?}")]
    TooSlow(Duration),
}

/// What a visit led to.
#[derive(Debug)]
pub enum Visit {
    Page(Body),
    /// Another site, which was not asked about.
    Elsewhere {
        status: u16,
        to: Url,
    },
}

#[derive(Debug)]
pub struct Body {
    /// Where it was in the end.
    pub url: Url,
    pub content_type: Option<String>,
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// Whether all of it came.
    pub whole: bool,
}

/// The address that is visited: with TLS, unless a rule names the host, since whoever wrote that
/// rule may mean a server of their own that has none.
pub fn upgraded(mut url: Url, view: &View) -> Url {
    url.set_fragment(None);
    if url.scheme() == "http" && !is_named(&url, view) {
        // Refused only between schemes of different kinds, which these are not.
        let _ = url.set_scheme("https");
    }
    url
}

/// Goes to a page whose host was checked already.
pub async fn visit(start: Url, door: Door, view: &View, longest: usize) -> Result<Visit, Failed> {
    let (mut url, mut door) = (start, door);
    for _ in 0..=MOST_REDIRECTS {
        let response = ask(&url, &door).await?;
        let status = response.status();
        let to = match status.is_redirection() {
            true => text(&response, &LOCATION),
            false => None,
        };
        let Some(to) = to else { return body(url, response, longest).await.map(Visit::Page) };
        let next = target(&url, &to).ok_or(Failed::Nowhere { status: status.as_u16(), to })?;
        let next = upgraded(next, view);
        if !is_same_site(&url, &next) {
            return Ok(Visit::Elsewhere { status: status.as_u16(), to: next });
        }
        let access = [Access::Fetch(next.to_string())];
        let input = json!({ "url": next.as_str() });
        if let Decision::Deny { why } = decide(view, super::NAME, &input, &access) {
            return Err(Failed::Denied { to: next, why: why.to_string() });
        }
        door = address::open(&next, view).await?;
        url = next;
    }
    Err(Failed::Circle(url))
}

async fn ask(url: &Url, door: &Door) -> Result<Response, Failed> {
    let unreachable = |why: String| Failed::Unreachable { host: door.host.clone(), why };
    let own = door.is_loopback();
    let made = client(|new| {
        let new = new.dns_resolver(Pinned(door.clone()));
        match own {
            true if url.scheme() == "http" => new.no_proxy().tls_certs_only([]),
            true => new.no_proxy(),
            false => new,
        }
    });
    let asked = made.map_err(unreachable)?.get(url.clone()).header(ACCEPT, WANTED).send().await;
    asked.map_err(|error| unreachable(all_causes(&error.without_url())))
}

/// Where a redirect leads, if it is something that can be fetched.
fn target(from: &Url, to: &str) -> Option<Url> {
    let to = from.join(to).ok()?;
    let plain = to.username().is_empty() && to.password().is_none();
    (matches!(to.scheme(), "http" | "https") && plain && to.has_host()).then_some(to)
}

/// The same host, with or without `www.`, on the same port or the usual ones.
fn is_same_site(one: &Url, other: &Url) -> bool {
    let host = |url: &Url| {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_owned();
        host.strip_prefix("www.").map(str::to_owned).unwrap_or(host)
    };
    let same_port = one.port_or_known_default() == other.port_or_known_default();
    let usual = one.port().is_none() && other.port().is_none();
    host(one) == host(other) && (same_port || usual)
}

fn text(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

async fn body(url: Url, response: Response, longest: usize) -> Result<Body, Failed> {
    let status = response.status();
    let content_type = text(&response, &CONTENT_TYPE);
    let compressed = text(&response, &CONTENT_ENCODING);
    let compressed = compressed.filter(|how| !how.eq_ignore_ascii_case("identity"));
    let length = text(&response, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let mut kind = page::kind(content_type.as_deref());
    let host = url.host_str().unwrap_or_default().to_owned();
    if !status.is_success() {
        let words = match compressed {
            Some(_) => String::new(),
            None => refusal(response, content_type, kind).await,
        };
        return Err(Failed::Status { status: status.as_u16(), words });
    }
    if let Some(how) = compressed {
        return Err(Failed::Compressed(how));
    }
    let binary = |size: String| Failed::Binary {
        kind: content_type.clone().unwrap_or_else(|| "of no declared type".to_owned()),
        size,
    };
    if kind == Kind::Binary {
        return Err(binary(length.map_or("of unknown size".to_owned(), amount)));
    }
    let (bytes, whole) =
        download(response, longest).await.map_err(|why| Failed::Unreachable { host, why })?;
    if kind == Kind::Unsaid {
        kind = page::sniff(&bytes);
    }
    if kind == Kind::Binary {
        return Err(binary(amount(length.unwrap_or(bytes.len() as u64))));
    }
    Ok(Body { url, content_type, kind, bytes, whole })
}

/// What a server says about an error, in short.
async fn refusal(response: Response, content_type: Option<String>, kind: Kind) -> String {
    if kind == Kind::Binary {
        return String::new();
    }
    let (bytes, _) = download(response, REFUSAL_BYTES).await.unwrap_or_default();
    let text = page::read(bytes, content_type, kind).await.unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(REFUSAL_WORDS) {
        _ if text.is_empty() => String::new(),
        Some((at, _)) => format!(": {}…", &text[..at]),
        None => format!(": {text}"),
    }
}

/// The bytes of an answer, up to a limit, and whether that was all.
async fn download(response: Response, longest: usize) -> Result<(Vec<u8>, bool), String> {
    let mut bytes = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece.map_err(|error| all_causes(&error.without_url()))?);
        if bytes.len() > longest {
            bytes.truncate(longest);
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::protocol::op::Mode;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_site_is_a_host_with_or_without_www() {
        let cases = [
            ("http://a.org/x", "https://a.org/y", true),
            ("https://a.org/", "https://www.a.org/", true),
            ("https://www.a.org/", "http://a.org/", true),
            ("https://a.org/", "https://a.org:443/", true),
            ("https://a.org/", "https://a.org./", true),
            ("https://a.org/", "https://a.org:8443/", false),
            ("http://a.org:8080/", "https://a.org/", false),
            ("https://a.org/", "https://b.a.org/", false),
            ("https://a.org/", "https://wwwa.org/", false),
            ("https://a.org/", "https://a.org.evil.example/", false),
        ];
        for (one, other, same) in cases {
            assert_eq!(is_same_site(&url(one), &url(other)), same, "{one} and {other}");
        }
    }

    #[test]
    fn what_no_rule_names_is_fetched_with_tls() {
        let view = View::new(Mode::Default, Path::new("/"), None);
        let shown = |text: &str| upgraded(url(text), &view).to_string();
        assert_eq!(shown("http://a.org/x?y#z"), "https://a.org/x?y");
        assert_eq!(shown("http://a.org:8080/"), "https://a.org:8080/");
        assert_eq!(shown("https://a.org/"), "https://a.org/");
    }
}
