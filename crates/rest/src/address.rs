//! The address of a server, taken from whatever page of it a person has copied.

use std::path::Path;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::{Kind, RestError, Result, Secret};

/// Pages that may stand alone behind a base URL: `/lab`, `/tree`.
const FRONT_PAGES: [&str; 9] = ["lab", "tree", "doc", "nbclassic", "retro", "login", "logout", "api", "hub"];

/// Pages that always name a file: alone, the word is part of a base URL (`https://host/notebooks/`).
const FILE_PAGES: [&str; 8] =
    ["notebooks", "edit", "view", "files", "nbconvert", "consoles", "terminals", "git-pull"];

/// Where a server is, and what else the pasted text said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The server's base URL. It ends with `/` and has no query, fragment or user name.
    pub base: Url,
    /// The token of the text, `?token=…`.
    pub token: Option<Secret>,
    /// The notebook that the page showed, as a path of the contents API.
    pub notebook: Option<String>,
}

impl Address {
    /// Reads an address as people paste it.
    ///
    /// Without a scheme, a host of this machine or network (`localhost`, an IP address, a name without a dot) and any
    /// host with a port of its own is taken for `http`, everything else for `https`. Errors do not repeat the text,
    /// which may hold a secret.
    pub fn parse(text: &str) -> Result<Self> {
        let mut url = read(unwrapped(text))?;
        match url.scheme() {
            "http" | "https" => {}
            "ws" => set_scheme(&mut url, "http"),
            "wss" => set_scheme(&mut url, "https"),
            other => {
                return Err(refused(format!(
                    "The address begins with \"{other}:\", not with http: or https:."
                )));
            }
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RestError::new(
                Kind::Address,
                "The address holds a user name or password before the host.",
                "Leave them out, and give Jupyter's token or password separately.",
            ));
        }
        reach_unspecified_host(&mut url);
        let token = query(&url, "token").and_then(Secret::new);
        let (base, notebook) = split(&url)?;
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

fn refused(cause: impl Into<String>) -> RestError {
    RestError::new(
        Kind::Address,
        cause,
        "Give the address of a Jupyter server as its page in the browser shows it, for example http://localhost:8888/.",
    )
}

/// The address without what surrounds it in mails, shells and the log of a server (`http://host:8888/ or http://…`).
fn unwrapped(text: &str) -> &str {
    let is_wrapping =
        |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\'' | '`' | '(' | ')' | ',');
    let text = text.trim_matches(is_wrapping);
    let starts = text.match_indices("http").map(|(at, _)| at);
    let words = starts.filter(|&at| text[..at].chars().next_back().is_none_or(char::is_whitespace));
    text[words.last().unwrap_or(0)..].trim_matches(is_wrapping)
}

fn read(text: &str) -> Result<Url> {
    if text.is_empty() {
        return Err(refused("The address is empty."));
    }
    let parsed = if text.contains("://") && !text.starts_with("://") {
        Url::parse(text)
    } else {
        let bare = text.trim_start_matches("://").trim_start_matches('/');
        Url::parse(&format!("http://{bare}")).map(|mut url| {
            if !is_plain(&url) {
                set_scheme(&mut url, "https");
            }
            url
        })
    };
    let url = parsed.map_err(|error| refused(format!("The address cannot be read: {error}.")))?;
    if url.host().is_none() {
        return Err(refused("The address names no host."));
    }
    Ok(url)
}

/// Changes one scheme of the web for another, which cannot fail.
fn set_scheme(url: &mut Url, scheme: &str) {
    let _ = url.set_scheme(scheme);
}

/// Whether an address without a scheme means `http`.
fn is_plain(url: &Url) -> bool {
    match url.port() {
        Some(port) => port != 443 && port != 8443,
        None => match url.host() {
            Some(Host::Domain(name)) => !name.contains('.') || name.ends_with(".localhost"),
            _ => true,
        },
    }
}

/// `0.0.0.0` is where a server listens, as its log says, not where it is reached; servers also refuse it as `Host`.
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

/// Parts a page's path into the base path, with `/` at both ends, and the notebook that the page shows.
fn split(url: &Url) -> Result<(String, Option<String>)> {
    let next =
        query(url, "next").and_then(|next| url.join(&next).ok()).filter(|next| next.origin() == url.origin());
    let of = |url: &Url| -> Vec<String> {
        url.path().split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let mut parts = of(url);
    // A login page of a Hub: the server is where it leads afterwards.
    let is_login =
        parts.last().is_some_and(|page| page.ends_with("login")) && parts.iter().any(|part| part == "hub");
    if let Some(next) = next.filter(|_| is_login) {
        parts = of(&next);
    }
    let start = match parts.iter().position(|part| part == "hub") {
        Some(hub) if is_hub_page(&parts[hub + 1..]) => {
            behind_hub(&mut parts, hub)?;
            hub + 2
        }
        _ => parts.iter().position(|part| part == "user").map_or(0, |user| user + 2).min(parts.len()),
    };
    let page = (start..parts.len()).find(|&at| is_page(&parts[at..])).unwrap_or(parts.len());
    let notebook = shown(&parts[page..]);
    let base: String = parts[..page].iter().flat_map(|part| [part, "/"]).collect();
    Ok((format!("/{base}"), notebook))
}

/// Whether `hub/` with this behind it is a page of a Hub, and not a server whose base URL has the word.
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

/// Turns `hub/user/NAME/…` and `hub/spawn/NAME/…` into the `user/NAME/…` that they lead to.
fn behind_hub(parts: &mut Vec<String>, hub: usize) -> Result<()> {
    let leads =
        parts.get(hub + 1).is_some_and(|page| matches!(page.as_str(), "user" | "spawn" | "spawn-pending"));
    if !leads || parts.len() < hub + 3 {
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

/// The notebook that a page shows: what follows `tree`, `notebooks` or `edit`, if it is one.
fn shown(page: &[String]) -> Option<String> {
    let words: Vec<&str> = page.iter().map(String::as_str).collect();
    let (["lab" | "doc", "workspaces", _, "tree", file @ ..]
    | ["lab" | "doc" | "nbclassic" | "retro", "tree" | "notebooks" | "edit", file @ ..]
    | ["tree" | "notebooks" | "edit", file @ ..]) = words.as_slice()
    else {
        return None;
    };
    let path = percent_decode_str(&file.join("/")).decode_utf8().ok()?.into_owned();
    // Older versions of jupyter-collaboration put a drive before the path.
    let path = path.strip_prefix("RTC:").map(str::to_owned).unwrap_or(path);
    let is_notebook = Path::new(&path).extension().is_some_and(|extension| extension == "ipynb");
    is_notebook.then_some(path)
}

#[cfg(test)]
mod tests;
