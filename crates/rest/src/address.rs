//! The address of a server, parsed from any of its pages that a person pastes.

use std::path::Path;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::{Kind, RestError, Result, Secret};

/// Pages that may end a URL: `https://host/lab`, `https://host/tree`.
const FRONT_PAGES: [&str; 9] = ["lab", "tree", "doc", "nbclassic", "retro", "login", "logout", "api", "hub"];

/// Pages that are always followed by a file: `https://host/edit/x.py`. Without a file, the word is part of the base URL:
/// `https://host/notebooks/`.
const FILE_PAGES: [&str; 8] =
    ["notebooks", "edit", "view", "files", "nbconvert", "consoles", "terminals", "git-pull"];

/// A server's base URL, and what else the pasted text contained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The server's base URL. It ends with `/` and has no query, fragment or user name.
    pub base: Url,
    /// The token in the query, `?token=…`.
    pub token: Option<Secret>,
    /// The notebook that the page shows, as a path of the contents API.
    pub notebook: Option<String>,
}

impl Address {
    /// Parses an address as people paste it.
    ///
    /// An address without a scheme means `http` if it has a port other than 443 and 8443 (`gpu-box.lan:8888`), or no port
    /// and a local host (`localhost`, `10.0.0.7`, `gpu-box`); otherwise `https` (`hub.example.org/user/ada`).
    /// Errors do not repeat the text, which may contain a secret.
    pub fn parse(text: &str) -> Result<Self> {
        let mut url = parse_url(trim_surroundings(text))?;
        match url.scheme() {
            "http" | "https" => {}
            "ws" => set_scheme(&mut url, "http"),
            "wss" => set_scheme(&mut url, "https"),
            other => {
                return Err(invalid(format!(
                    "The address starts with \"{other}:\", not with http: or https:."
                )));
            }
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RestError::new(
                Kind::Address,
                "The address contains a user name or password before the host.",
                "Remove them, and give Jupyter's token or password separately.",
            ));
        }
        reach_unspecified_host(&mut url);
        let token = query(&url, "token").and_then(Secret::new);
        let (base, notebook) = split_path(&url)?;
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(&base);
        Ok(Self { base: url, token, notebook })
    }
}

/// The address without the parts that may be secret.
pub(crate) fn origin_and_path(url: &Url) -> String {
    let path = url.path().trim_end_matches('/');
    format!("{}{path}", url.origin().ascii_serialization())
}

fn invalid(cause: impl Into<String>) -> RestError {
    RestError::new(
        Kind::Address,
        cause,
        "Give the address of a Jupyter server as the browser shows it, for example http://localhost:8888/.",
    )
}

/// Removes quotes and brackets around an address, and the words before it. Of several addresses the last counts: a
/// server's log shows `http://7f3c:8888/lab or http://localhost:8888/lab`, where only the second can be reached from
/// outside a container.
fn trim_surroundings(text: &str) -> &str {
    let is_surrounding =
        |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\'' | '`' | '(' | ')' | ',');
    let text = text.trim_matches(is_surrounding);
    let starts = text.match_indices("http").map(|(at, _)| at);
    let words = starts.filter(|&at| text[..at].chars().next_back().is_none_or(char::is_whitespace));
    text[words.last().unwrap_or(0)..].trim_matches(is_surrounding)
}

fn parse_url(text: &str) -> Result<Url> {
    if text.is_empty() {
        return Err(invalid("The address is empty."));
    }
    let parsed = if text.contains("://") && !text.starts_with("://") {
        Url::parse(text)
    } else {
        let bare = text.trim_start_matches("://").trim_start_matches('/');
        Url::parse(&format!("http://{bare}")).map(|mut url| {
            if !means_http(&url) {
                set_scheme(&mut url, "https");
            }
            url
        })
    };
    let url = parsed
        .map_err(|error| invalid(format!("The address cannot be read: {error}.")).with_source(error))?;
    if url.host().is_none() {
        return Err(invalid("The address names no host."));
    }
    Ok(url)
}

/// Cannot fail: both schemes are special ones of the URL standard.
fn set_scheme(url: &mut Url, scheme: &str) {
    let _ = url.set_scheme(scheme);
}

/// Whether an address without a scheme means `http`.
fn means_http(url: &Url) -> bool {
    match url.port() {
        Some(port) => port != 443 && port != 8443,
        None => match url.host() {
            Some(Host::Domain(name)) => !name.contains('.') || name.ends_with(".localhost"),
            _ => true,
        },
    }
}

/// Replaces `0.0.0.0` by `127.0.0.1`. A server's log shows `0.0.0.0` if it listens on all interfaces, but servers refuse
/// it as `Host`.
fn reach_unspecified_host(url: &mut Url) {
    let loopback = match url.host() {
        Some(Host::Ipv4(ip)) if ip.is_unspecified() => "127.0.0.1",
        Some(Host::Ipv6(ip)) if ip.is_unspecified() => "[::1]",
        _ => return,
    };
    let _ = url.set_host(Some(loopback));
}

fn query(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Splits the path of a page into the server's base path, with `/` at both ends, and the notebook that the page shows.
///
/// | path | base path | notebook |
/// |---|---|---|
/// | `/lab/tree/dir/x.ipynb` | `/` | `dir/x.ipynb` |
/// | `/a/b/lab/tree/lab/x.ipynb` | `/a/b/` | `lab/x.ipynb` |
/// | `/notebooks/notebooks/x.ipynb` | `/notebooks/` | `x.ipynb` |
/// | `/user/lab/lab` (a user named `lab`) | `/user/lab/` | |
/// | `/hub/user/ada/lab/tree/x.ipynb` | `/user/ada/` | `x.ipynb` |
/// | `/hub/login?next=%2Fhub%2Fuser%2Fada%2Flab` | `/user/ada/` | |
///
/// The base path ends before the first part that starts a page. Parts up to a user's name are never a page, so the search
/// starts after `user/NAME`.
fn split_path(url: &Url) -> Result<(String, Option<String>)> {
    let next =
        query(url, "next").and_then(|next| url.join(&next).ok()).filter(|next| next.origin() == url.origin());
    let parts_of = |url: &Url| -> Vec<String> {
        url.path().split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let mut parts = parts_of(url);
    // The login page of a Hub redirects to the server, at `next`.
    let is_login =
        parts.last().is_some_and(|page| page.ends_with("login")) && parts.iter().any(|part| part == "hub");
    if let Some(next) = next.filter(|_| is_login) {
        parts = parts_of(&next);
    }
    let start = match parts.iter().position(|part| part == "hub") {
        Some(hub) if is_hub_page(&parts[hub + 1..]) => {
            resolve_hub_page(&mut parts, hub)?;
            hub + 2
        }
        _ => parts.iter().position(|part| part == "user").map_or(0, |user| user + 2).min(parts.len()),
    };
    let page = (start..parts.len()).find(|&at| is_page(&parts[at..])).unwrap_or(parts.len());
    let notebook = notebook_of(&parts[page..]);
    let base: String = parts[..page].iter().flat_map(|part| [part, "/"]).collect();
    Ok((format!("/{base}"), notebook))
}

/// Whether `hub/` followed by `rest` is a page of a Hub, rather than a server whose base URL contains `hub`.
fn is_hub_page(rest: &[String]) -> bool {
    let pages = [
        "user",
        "spawn",
        "spawn-pending",
        "home",
        "token",
        "admin",
        "login",
        "api",
        "user-redirect",
        "oauth_login",
    ];
    rest.first().is_none_or(|first| pages.contains(&first.as_str()))
}

/// Replaces `hub/user/NAME/…` and `hub/spawn/NAME/…` by `user/NAME/…`, to which the Hub redirects.
fn resolve_hub_page(parts: &mut Vec<String>, hub: usize) -> Result<()> {
    let is_of_server =
        parts.get(hub + 1).is_some_and(|page| matches!(page.as_str(), "user" | "spawn" | "spawn-pending"));
    if !is_of_server || parts.len() < hub + 3 {
        return Err(RestError::new(
            Kind::Address,
            "This is a page of a JupyterHub, not of a server.",
            "Open your server from it and give that address: https://…/user/NAME/.",
        ));
    }
    parts.remove(hub);
    "user".clone_into(&mut parts[hub]);
    Ok(())
}

fn is_page(parts: &[String]) -> bool {
    let word = parts[0].as_str();
    if FRONT_PAGES.contains(&word) {
        return true;
    }
    let file = parts.get(1).map(String::as_str);
    FILE_PAGES.contains(&word)
        && file.is_some_and(|file| !FRONT_PAGES.contains(&file) && !FILE_PAGES.contains(&file))
}

/// The notebook that a page shows: the path after `tree`, `notebooks` or `edit`, if it ends with `.ipynb`.
fn notebook_of(page: &[String]) -> Option<String> {
    let words: Vec<&str> = page.iter().map(String::as_str).collect();
    let (["lab" | "doc", "workspaces", _, "tree", file @ ..]
    | ["lab" | "doc" | "nbclassic" | "retro", "tree" | "notebooks" | "edit", file @ ..]
    | ["tree" | "notebooks" | "edit", file @ ..]) = words.as_slice()
    else {
        return None;
    };
    let path = percent_decode_str(&file.join("/")).decode_utf8().ok()?.into_owned();
    // Older versions of jupyter-collaboration prefix the path with a drive.
    let path = path.strip_prefix("RTC:").map(str::to_owned).unwrap_or(path);
    let is_notebook = Path::new(&path).extension().is_some_and(|extension| extension == "ipynb");
    is_notebook.then_some(path)
}

#[cfg(test)]
mod tests;
