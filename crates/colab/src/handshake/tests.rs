use proptest::prelude::*;

use super::*;

const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// The token of another tab.
const OTHER: &str = "BBBBBBBBBBBBBBBBBBBBBB";

/// Checks a valid request with this query at a server with two tabs, after `change`.
fn checked(query: &str, change: impl FnOnce(&mut HeaderMap)) -> Result<Authorized, Refusal> {
    let mut request = Request::builder().uri(format!("/{query}")).body(()).unwrap();
    for (name, value) in [
        (header::HOST, "localhost:4711"),
        (header::CONNECTION, "keep-alive, Upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
        (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
        (header::ORIGIN, ORIGINS[0]),
        (header::SEC_WEBSOCKET_PROTOCOL, "mcp"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    change(request.headers_mut());
    let [one, other] = [TOKEN, OTHER].map(|token| Secret::new(token).unwrap());
    check(request, &[&one, &other])
}

/// The tab that a request is for, and how it was connected.
fn tab(query: &str, authorization: Option<&str>) -> Result<(usize, ConnectedBy), Refusal> {
    let authorized = checked(query, |headers| {
        headers.extend(authorization.map(|value| (header::AUTHORIZATION, value.parse().unwrap())));
    })?;
    authorized.answer.map(|_| (authorized.tab, authorized.by))
}

fn query(token: &str) -> String {
    format!("?access_token={token}")
}

#[test]
fn the_token_chooses_the_tab() {
    let by_url = |tab| Ok((tab, ConnectedBy::Url));
    let bearer = format!("Bearer {OTHER}");
    assert_eq!(tab(&query(TOKEN), None), by_url(0));
    assert_eq!(tab(&query(OTHER), None), by_url(1));
    assert_eq!(tab("", Some(&bearer)), by_url(1));
    // The query is looked at first.
    assert_eq!(tab(&query(TOKEN), Some(&bearer)), by_url(0));
    assert_eq!(tab(&query("wrong"), Some(&bearer)), by_url(1));
    assert_eq!(tab("", None), Err(Refusal::MissingToken));
    for wrong in ["wrong", "", &format!("{TOKEN}{OTHER}"), &format!("A{TOKEN}"), &TOKEN[1..]] {
        assert_eq!(tab(&query(wrong), None), Err(Refusal::WrongToken), "{wrong}");
    }
}

#[test]
fn the_line_of_a_tab_is_told_from_its_url() {
    let line = line(OTHER, 4711);
    let (token, port) = line.split_once('&').unwrap();
    assert_eq!(port, "4711");
    assert_eq!(tab(&query(token), None), Ok((1, ConnectedBy::Line)));
    for wrong in [&format!("{token}-line"), &format!("{OTHER}line"), "-line"] {
        assert_eq!(tab(&query(wrong), None), Err(Refusal::WrongToken), "{wrong}");
    }
}

#[test]
fn a_page_with_a_token_is_refused_with_the_first_failed_check() {
    let mut names = Vec::new();
    // Each change is made beside those before it.
    for (name, value, refusal) in [
        (header::SEC_WEBSOCKET_PROTOCOL, None, Refusal::Handshake("missing subprotocol")),
        (header::ORIGIN, Some("https://evil.example"), Refusal::Origin("https://evil.example".into())),
        (header::HOST, Some("evil.example:4711"), Refusal::Host),
        (header::UPGRADE, Some("h2c"), Refusal::NoUpgrade),
    ] {
        names.push((name, value));
        let change = |headers: &mut HeaderMap| {
            for (name, value) in &names {
                headers.remove(name);
                headers.extend(value.map(|value| (name.clone(), value.parse().unwrap())));
            }
        };
        let authorized = checked(&query(OTHER), change).unwrap();
        assert_eq!((authorized.tab, authorized.answer), (1, Err(refusal)));
        assert_eq!(checked("", change).unwrap_err(), Refusal::MissingToken);
    }
}

proptest! {
    #[test]
    fn no_other_token_is_accepted(other in "[A-Za-z0-9_-]{0,30}") {
        prop_assume!(other != TOKEN && other != OTHER);
        prop_assert_eq!(tab(&query(&other), None), Err(Refusal::WrongToken));
    }
}
