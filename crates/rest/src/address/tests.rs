use super::*;

/// A text, and its base URL, token and notebook.
type Row = (&'static str, &'static str, Option<&'static str>, Option<&'static str>);

fn check(rows: &[Row]) {
    for (text, base, token, notebook) in rows {
        let address = Address::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(address.base.as_str(), *base, "{text:?}");
        assert_eq!(address.token.as_ref().map(Secret::expose), *token, "{text:?}");
        assert_eq!(address.notebook.as_deref(), *notebook, "{text:?}");
    }
}

#[test]
fn missing_schemes_are_derived() {
    check(&[
        ("http://localhost:8888", "http://localhost:8888/", None, None),
        ("http://localhost:8888/", "http://localhost:8888/", None, None),
        ("localhost:8888", "http://localhost:8888/", None, None),
        ("localhost", "http://localhost/", None, None),
        ("//localhost:8888/", "http://localhost:8888/", None, None),
        ("127.0.0.1:8888/lab", "http://127.0.0.1:8888/", None, None),
        ("[::1]:8888/lab", "http://[::1]:8888/", None, None),
        ("http://[2001:db8::1]/lab", "http://[2001:db8::1]/", None, None),
        ("10.0.0.7", "http://10.0.0.7/", None, None),
        ("gpu-box:8888", "http://gpu-box:8888/", None, None),
        ("gpu-box.lan:8888", "http://gpu-box.lan:8888/", None, None),
        ("hub.example.org:443/user/ada", "https://hub.example.org/user/ada/", None, None),
        ("hub.example.org:8443", "https://hub.example.org:8443/", None, None),
        ("hub.example.org/user/ada", "https://hub.example.org/user/ada/", None, None),
        ("HTTPS://Hub.Example.ORG/user/Ada", "https://hub.example.org/user/Ada/", None, None),
        ("ws://localhost:8888/", "http://localhost:8888/", None, None),
        ("wss://hub.example.org/", "https://hub.example.org/", None, None),
        ("http://0.0.0.0:8888/lab", "http://127.0.0.1:8888/", None, None),
        ("http://[::]:8888/lab", "http://[::1]:8888/", None, None),
        ("http://münchen.example/", "http://xn--mnchen-3ya.example/", None, None),
    ]);
}

#[test]
fn tokens_are_removed_from_the_base_url() {
    check(&[
        ("http://localhost:8888/?token=abc", "http://localhost:8888/", Some("abc"), None),
        ("http://localhost:8888/lab?token=abc#x", "http://localhost:8888/", Some("abc"), None),
        ("localhost:8888/?token=abc", "http://localhost:8888/", Some("abc"), None),
        ("localhost:8888?token=abc", "http://localhost:8888/", Some("abc"), None),
        ("http://h:1/tree?reset&token=a%2Bb", "http://h:1/", Some("a+b"), None),
        ("http://h:1/?token=", "http://h:1/", None, None),
        ("http://h:1/login?next=%2Flab%3Ftoken%3Dno&token=yes", "http://h:1/", Some("yes"), None),
    ]);
}

#[test]
fn pages_are_reduced_to_their_server() {
    check(&[
        ("http://h:1/lab", "http://h:1/", None, None),
        ("http://h:1/lab/", "http://h:1/", None, None),
        ("http://h:1//lab", "http://h:1/", None, None),
        ("http://h:1/lab/tree/dir", "http://h:1/", None, None),
        ("http://h:1/lab/tree/dir/x.ipynb", "http://h:1/", None, Some("dir/x.ipynb")),
        ("http://h:1/lab/tree/x.ipynb?token=t#frag", "http://h:1/", Some("t"), Some("x.ipynb")),
        ("http://h:1/lab/workspaces/auto-x/tree/a/x.ipynb", "http://h:1/", None, Some("a/x.ipynb")),
        ("http://h:1/lab/workspaces/auto-x", "http://h:1/", None, None),
        ("http://h:1/lab/tree/RTC:a/x.ipynb", "http://h:1/", None, Some("a/x.ipynb")),
        ("http://h:1/lab/tree/two%20words/%C3%BC.ipynb", "http://h:1/", None, Some("two words/ü.ipynb")),
        ("http://h:1/lab/tree/100%25.ipynb", "http://h:1/", None, Some("100%.ipynb")),
        ("http://h:1/tree", "http://h:1/", None, None),
        ("http://h:1/tree/a/b", "http://h:1/", None, None),
        ("http://h:1/notebooks/a/x.ipynb", "http://h:1/", None, Some("a/x.ipynb")),
        ("http://h:1/nbclassic/notebooks/x.ipynb", "http://h:1/", None, Some("x.ipynb")),
        ("http://h:1/doc/tree/a/x.ipynb", "http://h:1/", None, Some("a/x.ipynb")),
        ("http://h:1/doc/workspaces/w/tree/x.ipynb", "http://h:1/", None, Some("x.ipynb")),
        ("http://h:1/edit/x.ipynb", "http://h:1/", None, Some("x.ipynb")),
        ("http://h:1/edit/x.py", "http://h:1/", None, None),
        ("http://h:1/lab/tree/x.txt", "http://h:1/", None, None),
        ("http://h:1/login?next=%2Flab", "http://h:1/", None, None),
        ("http://h:1/api/contents/x.ipynb", "http://h:1/", None, None),
        ("http://h:1/terminals/1", "http://h:1/", None, None),
    ]);
}

#[test]
fn base_urls_are_kept() {
    check(&[
        ("http://h:1/jupyter", "http://h:1/jupyter/", None, None),
        ("http://h:1/a/b/lab/tree/lab/x.ipynb", "http://h:1/a/b/", None, Some("lab/x.ipynb")),
        ("https://h.org/notebooks/", "https://h.org/notebooks/", None, None),
        ("https://h.org/notebooks/lab/tree/x.ipynb", "https://h.org/notebooks/", None, Some("x.ipynb")),
        ("https://h.org/notebooks/notebooks/x.ipynb", "https://h.org/notebooks/", None, Some("x.ipynb")),
        ("https://h.org/my-hub/x?y=z", "https://h.org/my-hub/x/", None, None),
        ("https://h.org/a%20b/lab", "https://h.org/a%20b/", None, None),
    ]);
}

#[test]
fn servers_of_a_hub_keep_user_and_server_name() {
    let ada = "https://h.org/user/ada/";
    check(&[
        ("https://h.org/user/ada", ada, None, None),
        ("https://h.org/user/ada/lab/tree/x.ipynb", ada, None, Some("x.ipynb")),
        ("https://h.org/user/ada/gpu/lab", "https://h.org/user/ada/gpu/", None, None),
        ("https://h.org/user/ada/gpu/", "https://h.org/user/ada/gpu/", None, None),
        ("https://h.org/user/lab/lab/tree/x.ipynb", "https://h.org/user/lab/", None, Some("x.ipynb")),
        ("https://h.org/user/ada%40x.org/tree", "https://h.org/user/ada%40x.org/", None, None),
        ("https://h.org/jupyter/user/ada/lab", "https://h.org/jupyter/user/ada/", None, None),
        ("https://h.org/hub/user/ada/lab/tree/x.ipynb", ada, None, Some("x.ipynb")),
        ("https://h.org/hub/spawn-pending/ada", ada, None, None),
        ("https://h.org/hub/spawn/ada/gpu?next=%2Fhub%2Fhome", "https://h.org/user/ada/gpu/", None, None),
        (
            "https://h.org/hub/login?next=%2Fhub%2Fuser%2Fada%2Flab%2Ftree%2Fx.ipynb",
            ada,
            None,
            Some("x.ipynb"),
        ),
        ("https://h.org/hub/login?next=%2Fuser%2Fada%2F", ada, None, None),
        ("https://h.org/jupyter/hub/user/ada/lab", "https://h.org/jupyter/user/ada/", None, None),
    ]);
}

#[test]
fn surrounding_text_is_removed() {
    let base = "http://localhost:8888/";
    check(&[
        ("  http://localhost:8888/lab \n", base, None, None),
        ("<http://localhost:8888/lab>", base, None, None),
        ("\"http://localhost:8888\"", base, None, None),
        ("`localhost:8888`", base, None, None),
        ("'localhost:8888/?token=t',", base, Some("t"), None),
        ("http://7f3c:8888/lab?token=t or http://localhost:8888/lab?token=t", base, Some("t"), None),
        ("Jupyter Server is running at: http://localhost:8888/lab", base, None, None),
    ]);
}

#[test]
fn errors_do_not_repeat_the_text() {
    let secrets = [
        "http://ada:hush@localhost:8888/",
        "http://hush@localhost:8888/",
        "https://h.org/hub/home?token=hush",
        "http://local host:8888/?token=hush",
        "ftp://h.org/?token=hush",
        "http://h.org:99999/?token=hush",
        "http://?token=hush",
    ];
    for text in secrets {
        let error = Address::parse(text).expect_err(text);
        assert_eq!(error.kind, Kind::Address, "{text:?}");
        assert!(!format!("{error} {error:?}").contains("hush"), "{text:?}: {error}");
        assert!(!error.next.to_string().is_empty());
    }
    for text in [
        "",
        "  ",
        "://",
        "http://",
        "file:///etc/passwd",
        "unix:///run/x.sock",
        "https://h.org/hub",
        "https://h.org/hub/user/",
    ] {
        assert_eq!(Address::parse(text).expect_err(text).kind, Kind::Address, "{text:?}");
    }
}

#[test]
fn debug_hides_the_token() {
    let address = Address::parse("http://localhost:8888/?token=hush").unwrap();
    assert!(!format!("{address:?}").contains("hush"));
}

#[test]
fn a_login_page_never_redirects_to_another_host() {
    for next in ["//evil.example/user/ada/", "https://evil.example/user/ada/", "/\\evil.example/user/ada/"] {
        let text = format!("https://h.org/hub/login?next={next}");
        let host = Address::parse(&text).map(|address| address.base.host_str().map(str::to_owned));
        assert!(host.is_err() || host == Ok(Some("h.org".to_owned())), "{next}: {host:?}");
    }
}
